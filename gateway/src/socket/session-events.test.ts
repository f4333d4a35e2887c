import { SessionEvent } from '@parley/protos/parley/session/v1/session';
import test from 'ava';
import { payloadOf } from './session-events.ts';

/** Field 1000, as a message of a few bytes: to a reader that does not know it a field and a case of a oneof look the same. */
const unknownField = Uint8Array.of(0xc2, 0x3e, 3, 0x08, 0x96, 0x01);

const about = { eventId: '1700000000000-1', sessionId: 7, occurredAt: new Date('2026-01-02T03:04:05.678Z') };

function received(event: SessionEvent): SessionEvent {
  return SessionEvent.decode(Buffer.concat([SessionEvent.encode(event).finish(), unknownField]));
}

test('an event of a kind that only a newer session service knows is passed over', (t) => {
  t.is(payloadOf(received({ ...about, kind: undefined })), undefined);
});

test('an event that a newer session service says more of is shown as it is known', (t) => {
  t.deepEqual(payloadOf(received({ ...about, kind: { $case: 'sessionStatusChanged', value: { status: 'ENDED' } } })), {
    __typename: 'SessionStatusEvent',
    eventId: about.eventId,
    sessionId: 7,
    occurredAt: '2026-01-02T03:04:05.678Z',
    status: 'ENDED',
  });
});
