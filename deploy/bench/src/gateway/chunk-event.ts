/** A chunk of a reply as readers get it. */
export function chunkEvent(n: number) {
  return {
    __typename: 'AiResponseChunkEvent',
    eventId: `1700000000000-${n}`,
    sessionId: 1,
    occurredAt: '2030-01-01T00:00:00.000Z',
    clientTurnId: 'turn-1',
    turnIndex: 4,
    attempt: 1,
    text: 'some more words of it ',
  };
}

/** What readers of the bench ask for. */
export const chunkSubscription = `subscription ($sessionId: ID!) {
  sessionEvents(sessionId: $sessionId) {
    __typename eventId sessionId occurredAt
    ... on AiResponseChunkEvent { clientTurnId turnIndex attempt text }
  }
}`;
