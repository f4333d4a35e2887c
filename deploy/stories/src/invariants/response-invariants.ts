import type { Invariant } from './facts.ts';

/** An acknowledged message is stored once, a refused message never, and a message of unknown outcome at most once. */
export const responsesMatchRows: Invariant = ({ responses, messages, sessions }) => {
  if (!responses) return [];
  const said = Map.groupBy(messages, ({ role, sessionId, text }) => `${role} ${sessionId} ${text}`);
  const statuses = new Map(sessions.map(({ id, status }) => [id, status]));
  return [
    ...responses.messages.flatMap(({ sessionId, text, outcome }) => {
      const count = said.get(`USER ${sessionId} ${text}`)?.length ?? 0;
      const isTrue = { acknowledged: count === 1, refused: count === 0, unknown: count <= 1 }[outcome];
      return isTrue ? [] : [`"${text}" in session ${sessionId} was ${outcome} and is there ${count} times`];
    }),
    ...responses.endedSessions
      .filter((id) => statuses.get(id) !== 'ENDED')
      .map((id) => `the end of session ${id} was acknowledged, and it is ${statuses.get(id) ?? 'not there'}`),
  ];
};

/**
 * Every complete reply has a model request, and a message has no more model requests than its turn had attempts. Workflow turns are
 * excluded, because a workflow determines the number of its requests itself.
 */
export const modelsAreAskedOnce: Invariant = ({ asked, turns, workflowRuns }) => {
  if (!asked) return [];
  const planned = new Set(workflowRuns.map(({ sessionId }) => sessionId));
  const asks = Map.groupBy(asked.replies, (text) => text);
  const free = turns.filter(({ sessionId }) => !planned.has(sessionId));
  return [...Map.groupBy(free, ({ text }) => text)].flatMap(([text, ofText]) => {
    if (text === null) return [];
    const count = asks.get(text)?.length ?? 0;
    const whole = ofText.filter(({ state, interrupted }) => state === 'DONE' && !interrupted).length;
    const attempts = ofText.reduce((sum, { attempt }) => sum + attempt, 0);
    if (count < whole) return [`a model was asked ${count} times for ${whole} replies to "${text}"`];
    return count > attempts + asked.repeats
      ? [`a model was asked ${count} times in ${attempts} attempts at "${text}"`]
      : [];
  });
};

/** Every judgement by a model has one request. Only a killed process may cause additional requests. */
export const judgesAreAskedOnce: Invariant = ({ asked, messages, evaluations }) => {
  if (!asked) return [];
  const said = Map.groupBy(messages, ({ role, sessionId }) => `${role} ${sessionId}`);
  // A request for a judgement belongs to the conversation whose messages it contains. If two conversations have the same messages, the
  // assignment is ambiguous.
  const judged = evaluations.flatMap(({ sessionId, judgedBy }) => {
    const lines = said.get(`USER ${sessionId}`)?.map(({ text }) => JSON.stringify(text).slice(1, -1));
    return lines ? [{ sessionId, judgedBy, lines }] : [];
  });
  const fitting = asked.judgements.map((request) =>
    judged.filter(({ lines }) => lines.every((line) => request.includes(line))),
  );
  return judged.flatMap((one) => {
    const { sessionId, judgedBy } = one;
    const mine = fitting.filter((conversations) => conversations.includes(one));
    if (mine.length === 0 && judgedBy !== 'OFFLINE') {
      return [`nobody was asked for the judgement of session ${sessionId}`];
    }
    const tooOften = mine.length > 1 + asked.repeats && mine.every(({ length }) => length === 1);
    return tooOften ? [`the judgement of session ${sessionId} was asked for ${mine.length} times`] : [];
  });
};
