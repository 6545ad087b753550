// What the agent says, once a second and whenever the leader changes. Times run on between two answers, so that
// a tenure that is not renewed is seen to end. All that others chose is written as text, never as markup.
"use strict";

const POLL_MS = 1000;
const ANSWER_WITHIN_MS = 3000;
const REACHED_WITHIN_S = 10;
const ASKED_WITHIN_S = 1;

const WORTH = {
  fenced: "At most one member leads, and each tenure has a higher fence.",
  advisory: "For a while two members may both take themselves for the leader.",
};

/** The latest answer, and when it came on the page's own clock. */
let status = null;
let answeredAt = performance.now();
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

/** Writes only what has changed, so that a selection of text stays. */
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
  if (status === null) return;
  write(byId("member"), `Member ${status.member}`);
  write(byId("about"), `at ${status.address}, hustings ${status.version}`);
  const leaders = status.groups.map(({ leadership: it }) => `${it.group}: ${it.leader?.name ?? "nobody"}`);
  document.title = `${leaders.join(", ")} - Hustings`;
  for (const group of status.groups) {
    const node = section(group.leadership.group);
    const at = (name) => node.querySelector(`[data-at="${name}"]`);
    drawGroup(at, group);
    if (group.tenure !== null) drawTenure(at, group.tenure);
    drawCouncil(at, group.council);
  }
}

function section(group) {
  if (!sections.has(group)) {
    sections.set(group, byId("group").content.firstElementChild.cloneNode(true));
    byId("groups").append(sections.get(group));
  }
  return sections.get(group);
}

function drawGroup(at, { leadership, tenure, namesake, peers, protocol, reach, counters }) {
  write(at("group"), `Group ${leadership.group}`);
  write(at("mode"), leadership.mode, leadership.mode === "fenced" ? "good" : "wary");
  write(at("worth"), WORTH[leadership.mode]);
  at("namesake").hidden = namesake === null;
  write(at("namesake"), `Another member called ${leadership.member} is at ${namesake}: this one takes no part. Rename one of them.`);

  const isOnlyNamed = tenure !== null && leadership.leader !== null && leadership.fence === null;
  write(at("role"), isOnlyNamed ? "Elected, without tenure yet" : "Leader");
  write(at("leader"), leadership.leader?.name ?? "nobody", leadership.leads ? "good" : "");
  const changes = `${leadership.changes} change${leadership.changes === 1 ? "" : "s"}`;
  const since = inWords(seconds(status.now - leadership.since));
  write(at("since"), `${leadership.leads ? "This member, for" : "For"} ${since}. ${changes} so far.`);

  for (const name of ["tenure", "refusals"]) at(name).hidden = tenure === null;
  at("own").hidden = !tenure?.remaining;
  at("voters").hidden = !tenure?.voters.length;
  at("store").hidden = typeof tenure?.reachable !== "boolean";

  write(at("protocol"), `Elects by ${protocol}, over ${reach}.`);
  writeRows(at("peer-rows"), peers.map((peer) => [peer.name, peer.address ?? "address unknown"]));
  const counted = Object.entries(counters).filter(([, count]) => count > 0);
  writeRows(at("counter-rows"), counted.map(([name, count]) => [name.replaceAll("_", " "), String(count)]));
}

function drawTenure(at, tenure) {
  const ago = (instant) => seconds(status.now - instant) + sinceAnswer();
  write(at("fence"), tenure.fence ?? "none");
  write(at("holder"), tenure.holder === null ? "Nobody holds tenure, as far as this member knows." : `Held by ${tenure.holder}.`);

  const [left, ttl] = [Math.max(seconds(tenure.remaining) - sinceAnswer(), 0), seconds(tenure.ttl)];
  [at("bar").max, at("bar").value] = [ttl, left];
  at("bar").className = left < ttl / 3 ? "wary" : "good";
  write(at("remaining"), left > 0 ? `${inWords(left)} of ${inWords(ttl)} left, unless renewed` : "Has ended, unless it was renewed since.");

  // Who asks voters hears them: a holder always, others now and then.
  const holds = tenure.remaining !== null;
  const within = Math.max(ttl, holds ? ASKED_WITHIN_S : REACHED_WITHIN_S);
  const reached = tenure.voters.filter((it) => it.heard !== null && seconds(status.now - it.heard) < within);
  const tone = 2 * reached.length > tenure.voters.length ? "good" : "bad";
  const hint = holds ? "" : " (only who holds tenure asks them all the time)";
  write(at("reached"), `${reached.length} of ${tenure.voters.length} heard in the last ${inWords(within)}${hint}`, holds ? tone : "");
  const lastHeard = (it) => (it.heard === null ? "not heard yet" : `heard ${inWords(ago(it.heard))} ago`);
  const heard = (it) => (it.name === status.member ? "this member" : lastHeard(it));
  writeRows(at("voter-rows"), tenure.voters.map((it) => [it.name, heard(it)]));

  const answers = tenure.reachable ? "answered" : "did not answer";
  write(at("store-answers"), `${tenure.authority} ${answers} when it was asked last`, tenure.reachable ? "good" : "bad");

  at("never-refused").hidden = tenure.refusals.length > 0;
  const why = (it) => (it.times === 1 ? it.why : `${it.why} (${it.times} times in a row)`);
  writeRows(at("refusal-rows"), tenure.refusals.toReversed().map((it) => [`${inWords(ago(it.at))} ago`, why(it)]));
}

/** Of a centre who is seated, of a host whether it is. */
function drawCouncil(at, council) {
  const ago = (instant) => inWords(seconds(status.now - instant) + sinceAnswer());
  const left = (lease) => (lease === null ? "for ever" : `${inWords(seconds(lease) - sinceAnswer())} left unless heard`);
  const [host, centre] = [council?.host, council?.centre];
  at("council").hidden = !centre && !host?.seat;
  write(at("council-cost"), centre ? `${centre.rounds} rounds, ${centre.replies} replies, at most ${centre.peak_replies} in one.` : "");
  if (centre) {
    const isFilled = centre.chambers.every(({ seats, least, most }) => least <= seats.length && seats.length <= most);
    const each = centre.chambers.map(({ seats, least, most }) => `${seats.length} seats of ${least} to ${most}`);
    const other = centre.gives_way_to === null ? "" : ` Stopped: ${centre.gives_way_to.name} is the centre now.`;
    const waits = centre.awaits === null ? "" : ` Others are elected, and wait ${inWords(seconds(centre.awaits) - sinceAnswer())} for seats of another centre.`;
    write(at("council-state"), `${each.join(", ")} are filled.${other}${waits}`, isFilled ? "good" : "wary");
    const row = (it) => [it.member.name, it.member.address ?? "", `for ${ago(it.since)}`, left(it.lease)];
    writeRows(at("seat-rows"), centre.chambers.flatMap(({ seats }) => seats.map(row)));
  } else {
    const seat = host?.seat;
    write(at("council-state"), seat ? `This member is seated, by ${seat.centre.name}, for ${ago(seat.since)}; ${left(seat.lease)}.` : "", "good");
    writeRows(at("seat-rows"), []);
  }
}

async function ask() {
  try {
    const answer = await fetch("/v1/status", { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    if (!answer.ok) throw new Error(answer.statusText);
    // A fence may be greater than this language counts exactly: it stays text.
    status = JSON.parse((await answer.text()).replace(/"fence":(\d+)/g, '"fence":"$1"'));
    answeredAt = performance.now();
    heed(true);
  } catch {
    heed(false);
  }
}

/** Says plainly when the agent is silent: what stands below is then what it said last. */
function heed(isAnswering) {
  document.body.classList.toggle("stale", !isAnswering);
  byId("silence").hidden = isAnswering;
  const last = status === null ? "" : ` Below is what it said ${inWords(sinceAnswer())} ago: who leads may have changed since.`;
  write(byId("silence"), isAnswering ? "" : `The agent does not answer.${last}`);
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
