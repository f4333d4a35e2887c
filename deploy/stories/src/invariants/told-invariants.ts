import type { Invariant } from './facts.ts';

/** What was acknowledged is there once; what was refused is not; what nobody knows is there once at most. */
export const whatWasToldIsTrue: Invariant = ({ told, messages, sessions }) => {
  if (!told) return [];
  const said = Map.groupBy(messages, ({ role, sessionId, text }) => `${role} ${sessionId} ${text}`);
  const statuses = new Map(sessions.map(({ id, status }) => [id, status]));
  return [
    ...told.messages.flatMap(({ sessionId, text, outcome }) => {
      const count = said.get(`USER ${sessionId} ${text}`)?.length ?? 0;
      const isTrue = { acknowledged: count === 1, refused: count === 0, unknown: count <= 1 }[outcome];
      return isTrue ? [] : [`"${text}" in session ${sessionId} was ${outcome} and is there ${count} times`];
    }),
    ...told.endedSessions
      .filter((id) => statuses.get(id) !== 'ENDED')
      .map((id) => `the end of session ${id} was acknowledged, and it is ${statuses.get(id) ?? 'not there'}`),
  ];
};

/** Every reply was asked for, and nothing was asked for more often than it was tried. */
export const modelsAreAskedOnce: Invariant = ({ asked, turns }) => {
  if (!asked) return [];
  const asks = Map.groupBy(asked.replies, (text) => text);
  return [...Map.groupBy(turns, ({ text }) => text)].flatMap(([text, ofText]) => {
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

/** Every judgement by a model was asked for, and none again without a reason. */
export const judgesAreAskedOnce: Invariant = ({ asked, messages, evaluations }) => {
  if (!asked) return [];
  const said = Map.groupBy(messages, ({ role, sessionId }) => `${role} ${sessionId}`);
  // A conversation is known by what was said in it; where two are alike, neither can be told by that.
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
