//! The list of the chapter's figures.

use super::super::FigureSpec;
use super::{choice, thesis_figures};

pub(super) const FIGURES: &[FigureSpec] = &[
    FigureSpec {
        name: "L-figure-5-6",
        caption: "Figure 5.6: when the last message that is needed is sent, without loss. T_S = T_A = 1, D = 0.1. \
                  In this and the following figures, points: means of simulated elections, 1000 up to N = 100 and \
                  100 beyond, with 95 % confidence bands; lines: our corrected theory, where there is a formula.",
        draw: thesis_figures::figure_5_6,
    },
    FigureSpec {
        name: "L-figure-5-7",
        caption: "Figure 5.7: messages without loss.",
        draw: thesis_figures::figure_5_7,
    },
    FigureSpec {
        name: "L-figure-5-8",
        caption: "Figure 5.8: tmax with a loss of 0.4, correlated and uncorrelated. Of LE-S with uncorrelated loss \
                  also what the printed formula gives.",
        draw: thesis_figures::figure_5_8,
    },
    FigureSpec {
        name: "L-figure-5-9",
        caption: "Figure 5.9: messages with a loss of 0.4, correlated and uncorrelated.",
        draw: thesis_figures::figure_5_9,
    },
    FigureSpec {
        name: "L-figure-5-10",
        caption: "Figure 5.10: tmax of LE-S with correlated loss does not depend on N.",
        draw: thesis_figures::figure_5_10,
    },
    FigureSpec {
        name: "L-figure-5-11",
        caption: "Figure 5.11: LE-S and AL with a loss of 0.4. They do not cross. The third line shows what would \
                  make them: AL's messages lasting long enough to collide, so that both are equal at N = 200.",
        draw: thesis_figures::figure_5_11,
    },
    FigureSpec {
        name: "L-figure-5-12",
        caption: "Figure 5.12: when the last member that announces itself at its wake-up does so, loss 0.4. LE-M and \
                  SUP lie on each other.",
        draw: thesis_figures::figure_5_12,
    },
    FigureSpec {
        name: "L-figure-5-13",
        caption: "Figure 5.13: tmax by criterion, loss 0.4.",
        draw: thesis_figures::figure_5_13,
    },
    FigureSpec {
        name: "L-scale",
        caption: "Messages of one LE-S election, N from 100 to a million: loss 0.1, T_S = T_A = 1 s, D = 1 ms. Whoever \
                  wakes within D of the first cannot have heard it: that part grows with N, the rest like ln N.",
        draw: thesis_figures::scale,
    },
    FigureSpec {
        name: "L-choice-messages",
        caption: "Which to choose: announcements until all have heard the leader. In this and the following figures, \
                  T_S = T_A = 1 s unless said otherwise, D = 1 ms, uncorrelated loss 0.1, means of 100 elections.",
        draw: choice::messages,
    },
    FigureSpec {
        name: "L-choice-delay",
        caption: "Which to choose: the time until all have heard the leader.",
        draw: choice::delay,
    },
    FigureSpec {
        name: "L-choice-interval",
        caption: "Which T_S to choose: announcements in a group of 500.",
        draw: choice::interval,
    },
];
