let sent = 0;

/** The next chunks of a reply, as readers get them. */
export function chunkEvents(count: number) {
  return Array.from({ length: count }, () => ({
    __typename: 'AiResponseChunkEvent',
    eventId: `1700000000000-${++sent}`,
    sessionId: 1,
    occurredAt: '2030-01-01T00:00:00.000Z',
    clientTurnId: 'turn-1',
    turnIndex: 4,
    attempt: 1,
    text: 'some more words of it ',
  }));
}
