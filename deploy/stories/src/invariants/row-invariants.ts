import type { Facts, Invariant } from './facts.ts';

/** The maximum time from the end of a session to its evaluation. It also holds if the session's tenant was suspended for a while. */
const evaluationDeadlineMs = 10 * 60_000;
/** The maximum time until a replica takes a job that is due or whose lease has expired. */
const unattendedMs = 15_000;

/** In each tenant's ledger, the totals equal the sums over the recorded calls. */
export const totalsEqualCalls: Invariant = ({ usage }) =>
  usage
    .filter(({ total, sum }) => total !== sum)
    .map(({ tenantId, what, total, sum }) => `${what}: tenant ${tenantId} shows ${total}, and its calls are ${sum}`);

/**
 * Each counter that a plan limits equals the number or sum of the counted rows. Each document's chunk count equals the number of its
 * chunks.
 */
export const countersEqualRows: Invariant = ({ kept }) =>
  kept
    .filter(({ total, sum }) => total !== sum)
    .map(({ tenantId, what, total, sum }) => `${what}: tenant ${tenantId} counts ${total}, and its rows are ${sum}`);

/** Every tool call has ended, and each one is in its tenant's log once. */
export const everyToolCallIsLogged: Invariant = ({ toolCalls }) =>
  toolCalls.flatMap(({ tenantId, sessionId, ended, running, logged }) => [
    ...(ended === logged
      ? []
      : [
          `of tenant ${tenantId} in session ${sessionId}, ${ended} calls of tools have ended, and ${logged} are logged`,
        ]),
    ...(running > 0 ? [`of tenant ${tenantId} in session ${sessionId}, ${running} calls of tools still run`] : []),
  ]);

/** A turn has at most one workflow run. In an idle mesh, no workflow run is running. */
export const everyRunEnds: Invariant = ({ workflowRuns, turns }) => {
  const turnsOf = Map.groupBy(turns, ({ sessionId }) => sessionId);
  return [...Map.groupBy(workflowRuns, ({ sessionId }) => sessionId)].flatMap(([sessionId, runs]) => {
    const running = runs.filter(({ status }) => status === 'RUNNING').length;
    const maxRuns = turnsOf.get(sessionId)?.length ?? 0;
    return [
      ...(runs.length > maxRuns
        ? [`session ${sessionId} has ${runs.length} runs of workflows in ${maxRuns} turns`]
        : []),
      ...(running > 0 ? [`session ${sessionId} has ${running} runs of workflows that still run`] : []),
    ];
  });
};

/** Every document that waits for its parsing or is being parsed has a job, or an event in the outbox. */
export const everyDocumentIsRead: Invariant = ({ documents, jobs, outbox }) => {
  const withJob = new Set(jobs.map(({ documentId }) => documentId));
  const withEvent = new Set(outbox.filter(({ topic }) => topic === 'document-uploaded').map(({ key }) => Number(key)));
  return documents
    .filter(
      ({ id, parseStatus }) => ['PENDING', 'PARSING'].includes(parseStatus) && !withJob.has(id) && !withEvent.has(id),
    )
    .map(({ id, parseStatus }) => `document ${id} is ${parseStatus}, and no event or job is there`);
};

/**
 * Every user message has exactly one turn, which ended with one reply or one recorded failure. A failed turn may also have stored an
 * interrupted reply.
 */
export const everyMessageHasOneEnd: Invariant = (facts) =>
  inSessions(facts, ({ id }, messages, turns) =>
    messages.flatMap(({ role, turnIndex: index }) => {
      if (role !== 'USER') return [];
      const answers = messages.filter((row) => row.role === 'MODEL' && row.exchangeIndex === index);
      const whole = answers.filter(({ finishReason }) => finishReason !== null).length;
      const replies = answers.length;
      const mine = turns.filter((turn) => turn.turnIndex === index);
      const failures = mine.filter((turn) => turn.state === 'FAILED' && turn.failureCode !== null).length;
      if (mine.length === 1 && (failures === 1 ? replies <= 1 && whole === 0 : replies === 1)) return [];
      const states = mine.map(({ state }) => state).join();
      return [`message ${index} of session ${id} has ${replies} replies, ${failures} failures, turns ${states}`];
    }),
  );

/** `turnIndex` counts from 0 in each session, without gaps or repetitions. */
export const messagesAreCounted: Invariant = (facts) =>
  inSessions(facts, ({ id }, messages) => {
    const indexes = messages.map(({ turnIndex }) => turnIndex).toSorted((a, b) => a - b);
    return indexes.every((index, n) => index === n) ? [] : [`session ${id} counts its messages ${indexes.join()}`];
  });

/**
 * An ended session of an active tenant has exactly one evaluation, created within `evaluationDeadlineMs`. No session has several
 * evaluations, and a session that has not ended has none.
 */
export const everyEndIsJudgedOnce: Invariant = ({ sessions, evaluations, tenants }) => {
  const bySession = Map.groupBy(evaluations, ({ sessionId }) => sessionId);
  const alive = new Set(tenants.filter(({ suspended, deleted }) => !suspended && !deleted).map(({ id }) => id));
  return sessions.flatMap(({ id, tenantId, status, judged, endedAt }) => {
    const mine = bySession.get(id) ?? [];
    const isOver = status === 'ENDED' || status === 'EXPIRED';
    if (mine.length > 1 || (mine.length > 0 && !isOver)) {
      return [`session ${id} is ${status} and has ${mine.length} evaluations`];
    }
    const [evaluation] = mine;
    if (!evaluation) {
      return isOver && judged && alive.has(tenantId) ? [`session ${id} is ${status} and has no evaluation`] : [];
    }
    const tookMs = evaluation.generatedAt.getTime() - (endedAt?.getTime() ?? 0);
    return tookMs > evaluationDeadlineMs ? [`session ${id} was judged ${tookMs} ms after its end`] : [];
  });
};

/** Running jobs have a lease or are soon taken over, and nothing runs in an ended session. */
export const nothingIsAbandoned: Invariant = (facts) => {
  const { jobs } = facts;
  const withJob = new Set(jobs.map(({ turnId }) => turnId));
  const turns = inSessions(facts, ({ id, status }, _messages, ofSession) => {
    const open = ofSession.filter(({ state }) => state === 'QUEUED' || state === 'RUNNING');
    const forgotten = open.filter((turn) => !withJob.has(turn.id));
    return [
      ...(open.length > 0 && status !== 'ACTIVE'
        ? [`session ${id} is ${status} and has ${open.length} open turns`]
        : []),
      ...forgotten.map(({ turnIndex, state }) => `turn ${turnIndex} of session ${id} is ${state}, and no job is there`),
    ];
  });
  const unattended = jobs.flatMap(({ service, kind, key, state, dueMs, leaseMs }) => {
    if (state === 'queued' && dueMs > unattendedMs) {
      return [`${service} has not begun its job ${kind} of ${key}, due for ${dueMs} ms`];
    }
    if (leaseMs !== null && leaseMs < -unattendedMs) {
      return [`${service} has a job ${kind} of ${key} whose lease ran out ${-leaseMs} ms ago`];
    }
    return [];
  });
  return [...turns, ...unattended];
};

/** Related rows belong to the same tenant. */
export const nothingCrossesTenants: Invariant = ({ tenants, agents, sessions, evaluations, jobs, outbox }) => {
  const owners = new Map(agents.map(({ id, tenantId }) => [id, tenantId]));
  const talkers = new Map(sessions.map(({ id, tenantId }) => [id, tenantId]));
  const known = new Set(tenants.map(({ id }) => id));
  const unknown = [...jobs, ...outbox].filter(({ tenantId }) => tenantId !== null && !known.has(tenantId));
  return [
    ...sessions
      .filter(({ agentId, tenantId }) => owners.get(agentId) !== tenantId)
      .map(({ id, agentId }) => `session ${id} talks to agent ${agentId}, which its tenant does not have`),
    ...evaluations
      .filter(({ sessionId, tenantId }) => talkers.get(sessionId) !== tenantId)
      .map(
        ({ sessionId, tenantId }) =>
          `an evaluation is of session ${sessionId}, which its tenant ${tenantId} does not have`,
      ),
    ...unknown.map(
      ({ service, tenantId }) => `${service} has something to do for tenant ${tenantId}, which is not there`,
    ),
  ];
};

type InSession = (session: Facts['sessions'][number], messages: Facts['messages'], turns: Facts['turns']) => string[];

function inSessions({ sessions, messages, turns }: Facts, look: InSession): string[] {
  const messagesOf = Map.groupBy(messages, ({ sessionId }) => sessionId);
  const turnsOf = Map.groupBy(turns, ({ sessionId }) => sessionId);
  return sessions.flatMap((session) => look(session, messagesOf.get(session.id) ?? [], turnsOf.get(session.id) ?? []));
}
