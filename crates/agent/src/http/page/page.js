// Shows the agent's status, which it requests once a second and after every change of the leader.
// The page computes no verdict and no countdown: it shows the agent's verdict and its age.
// Strings that others choose are inserted as text, never as markup.
"use strict";

const POLL_MS = 1000;
const ANSWER_WITHIN_MS = 3000;
const TONES = { good: "good", warning: "wary", bad: "bad" };

const WORTH = {
  fenced: "At most one member leads, and each tenure has a higher fence.",
  advisory: "For a while two members may both take themselves for the leader.",
};

/** The latest answer, and its time of arrival on the page's own clock. */
let status = null;
let answeredAt = performance.now();
let isAnswering = true;
const sections = new Map();

const byId = (id) => document.getElementById(id);
const sinceAnswer = () => (performance.now() - answeredAt) / 1000;
const seconds = (nanoseconds) => nanoseconds / 1e9;

function inWords(span) {
  if (span < 60) return `${Math.max(span, 0).toFixed(1)} s`;
  if (span < 3600) return `${Math.floor(span / 60)} min ${Math.floor(span % 60)} s`;
  if (span < 48 * 3600) return `${Math.floor(span / 3600)} h ${Math.floor((span % 3600) / 60)} min`;
  return `${Math.floor(span / 86400)} days`;
}

/** Writes only changed text, so that a selection of text stays. */
function write(node, text, tone) {
  if (node.textContent !== text) node.textContent = text;
  for (const it of ["good", "wary", "bad"]) node.classList.toggle(it, it === tone);
}

function writeRows(table, rows) {
  while (table.rows.length > rows.length) table.deleteRow(-1);
  rows.forEach((cells, index) => {
    const row = table.rows[index] ?? table.insertRow();
    cells.forEach((text, column) => write(row.cells[column] ?? row.insertCell(), text));
  });
}

function draw() {
  document.body.classList.toggle("stale", !isAnswering);
  byId("silence").hidden = isAnswering;
  const last = status === null ? "" : ` Below is what it said ${inWords(sinceAnswer())} ago: who leads may have changed since.`;
  write(byId("silence"), isAnswering ? "" : `The agent does not answer.${last}`);
  if (status === null) return;
  write(byId("member"), `Member ${status.member}`);
  write(byId("about"), `at ${status.address}, hustings ${status.version}, asked ${inWords(sinceAnswer())} ago`);
  const leader = (it) => (it.health.state === "no-election" ? "council" : (it.leadership.leader?.name ?? "nobody"));
  const title = (it) => `${it.health.level === "good" ? "" : `${it.health.level}: `}${it.leadership.group}: ${leader(it)}`;
  document.title = `${isAnswering ? "" : "no answer: "}${status.groups.map(title).join(", ")} - Hustings`;
  for (const group of status.groups) {
    const node = section(group.leadership.group);
    const at = (name) => node.querySelector(`[data-at="${name}"]`);
    drawGroup(at, group);
    if (group.tenure !== null) drawTenure(at, group.tenure, TONES[group.health.level]);
    drawCouncil(at, group.council, group.health);
  }
}

function section(group) {
  if (!sections.has(group)) {
    sections.set(group, byId("group").content.firstElementChild.cloneNode(true));
    byId("groups").append(sections.get(group));
  }
  return sections.get(group);
}

function drawGroup(at, { health, leadership, tenure, peers, protocol, reach, counters }) {
  const elects = health.state !== "no-election";
  write(at("group"), `Group ${leadership.group}`);
  const tone = TONES[health.level];
  write(at("verdict"), `${health.summary.charAt(0).toUpperCase()}${health.summary.slice(1)}.`, tone);
  at("mode").hidden = !elects;
  write(at("mode"), leadership.mode);
  at("worth").hidden = !elects;
  write(at("worth"), WORTH[leadership.mode]);

  at("summary").hidden = !elects;
  const isOnlyNamed = tenure !== null && leadership.leader !== null && leadership.fence === null;
  write(at("role"), isOnlyNamed ? "Elected, without tenure yet" : "Leader");
  write(at("leader"), leadership.leader?.name ?? "nobody", tone);
  const changes = `${leadership.changes} change${leadership.changes === 1 ? "" : "s"}`;
  const since = inWords(seconds(status.now - leadership.since));
  const cause = leadership.cause === "" ? "" : ` The last one: ${leadership.cause}.`;
  write(at("since"), `${leadership.leads ? "This member, for" : "For"} ${since}. ${changes} so far.${cause}`);

  for (const name of ["tenure", "refusals"]) at(name).hidden = tenure === null;
  at("own").hidden = !tenure?.remaining;
  at("voters").hidden = !tenure?.voters.length;
  at("store").hidden = typeof tenure?.reachable !== "boolean";

  write(at("protocol"), elects ? `Elects by ${protocol}, over ${reach}.` : `Elects no leader. Members are reached by ${reach}.`);
  const heard = (it) => (it.heard === null ? "" : `heard ${inWords(seconds(status.now - it.heard))} ago`);
  const answers = (it) => (it.silent_for === null ? heard(it) : `does not answer, for ${inWords(seconds(it.silent_for))}`);
  const known = (it) => (it.up === null ? answers(it) : it.up ? "up" : `down, ${heard(it)}`);
  writeRows(at("peer-rows"), peers.map((it) => [it.name, it.address ?? "address unknown", known(it)]));
  at("peers-note").hidden = !peers.some((it) => it.up === null);
  const counted = Object.entries(counters).filter(([, count]) => count > 0);
  writeRows(at("counter-rows"), counted.map(([name, count]) => [name.replaceAll("_", " "), String(count)]));
}

function drawTenure(at, tenure, tone) {
  const ago = (instant) => inWords(seconds(status.now - instant));
  write(at("fence"), tenure.fence ?? "none");
  write(at("holder"), tenure.holder === null ? "Nobody holds tenure, as far as this member knows." : `Held by ${tenure.holder}.`);

  const [left, ttl] = [seconds(tenure.remaining), seconds(tenure.ttl)];
  [at("bar").max, at("bar").value] = [ttl, left];
  at("bar").className = tone;
  write(at("remaining"), `${inWords(left)} of ${inWords(ttl)} were left when the agent was asked. It is renewed all the time.`);

  const names = (answers) => tenure.voters.filter((it) => it.answers === answers).map((it) => it.name);
  const isAsked = tenure.voters.some((it) => it.answers !== null);
  const count = `${names(true).length} of ${tenure.voters.length} voters answer this member.`;
  write(at("reached"), isAsked ? count : "Only a member that holds tenure, or has asked for it for some seconds, knows which of them answer.");
  const heard = (it) => (it.heard === null ? "never heard" : `heard ${ago(it.heard)} ago`);
  const answers = (it) => (it.answers === null ? "" : it.answers ? "answers" : `does not answer, ${heard(it)}`);
  const voter = (it) => [it.name, it.name === status.member ? "this member" : answers(it)];
  writeRows(at("voter-rows"), tenure.voters.map(voter));

  const store = tenure.reachable ? "answered" : "did not answer";
  write(at("store-answers"), `${tenure.authority} ${store} when it was asked last.`, tenure.reachable ? "" : "bad");

  // Once a member holds tenure, earlier refusals of this member no longer matter.
  write(at("refusals-title"), tenure.holder === null ? "Refusals" : "Earlier refusals");
  at("never-refused").hidden = tenure.refusals.length > 0;
  const why = (it) => (it.times === 1 ? it.why : `${it.why} (${it.times} times in a row)`);
  writeRows(at("refusal-rows"), tenure.refusals.toReversed().map((it) => [`${ago(it.at)} ago`, why(it)]));
}

/** Shows the seats of a centre, or the seat of a host. */
function drawCouncil(at, council, health) {
  const [elects, tone] = [health.state !== "no-election", TONES[health.level]];
  const ago = (instant) => inWords(seconds(status.now - instant));
  const left = (lease) => (lease === null ? "for ever" : `${inWords(seconds(lease))} left unless heard`);
  const [host, centre] = [council?.host, council?.centre];
  at("council").hidden = !centre && !host?.seat && elects;
  write(at("council-cost"), centre ? `${centre.rounds} rounds, ${centre.replies} replies, at most ${centre.peak_replies} in one.` : "");
  if (centre) {
    const each = centre.chambers.map(({ seats, least, most }) => `${seats.length} seats of ${least} to ${most}`);
    const other = centre.gives_way_to === null ? "" : ` Stopped: ${centre.gives_way_to.name} is the centre now.`;
    const waits = centre.awaits === null ? "" : ` Others are elected, and wait ${inWords(seconds(centre.awaits))} for seats of another centre.`;
    write(at("council-state"), `${each.join(", ")} are filled.${other}${waits}`, tone);
    const row = (it) => [it.member.name, it.member.address ?? "", `for ${ago(it.since)}`, left(it.lease)];
    writeRows(at("seat-rows"), centre.chambers.flatMap(({ seats }) => seats.map(row)));
  } else {
    const seat = host?.seat;
    write(at("council-state"), seat ? `This member is seated, by ${seat.centre.name}, for ${ago(seat.since)}; ${left(seat.lease)}.` : "This member is a host of the group's council, and not seated.", seat ? tone : "");
    writeRows(at("seat-rows"), []);
  }
}

/**
 * Requests the status. If the agent does not answer, the page says so, and the rest of the page keeps
 * showing the last answer.
 */
async function ask() {
  try {
    const answer = await fetch("/v1/status", { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    if (!answer.ok) throw new Error(answer.statusText);
    // A fence may exceed the integers that JavaScript represents exactly, so it stays text.
    status = JSON.parse((await answer.text()).replace(/"fence":(\d+)/g, '"fence":"$1"'));
    answeredAt = performance.now();
    isAnswering = true;
  } catch {
    isAnswering = false;
  }
  draw();
}

async function keepAsking() {
  await ask();
  setTimeout(keepAsking, POLL_MS);
}

keepAsking();
setInterval(draw, 100);
new EventSource("/v1/watch").addEventListener("leadership", ask);
const councils = new EventSource("/v1/watch-council");
for (const name of ["seat", "council"]) councils.addEventListener(name, ask);
