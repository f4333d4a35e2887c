import { ToolCallStatus } from '@parley/protos/parley/agent/v1/tool_calls';
import { SessionEvent } from '@parley/protos/parley/session/v1/session';
import test from 'ava';
import { eventPayload } from './subscriptions.ts';

/** Field 1000 with a short message. To a reader, an unknown field looks the same as an unknown case of a oneof. */
const unknownField = Uint8Array.of(0xc2, 0x3e, 3, 0x08, 0x96, 0x01);

const occurredAt = new Date('2026-01-02T03:04:05.678Z');
const about = { eventId: '1700000000000-1', sessionId: 7, occurredAt };
const written = (event: SessionEvent) => JSON.parse(JSON.stringify(eventPayload(event)));

const citation = { documentId: 4, documentName: 'a.md', chunkIndex: 0, score: 0.5, preview: 'Percent' };

const protoCall = {
  callId: '1.0',
  name: 'search',
  status: ToolCallStatus.TOOL_CALL_STATUS_FAILED,
  durationMs: 40,
  errorKind: 'TOOL_FAILED',
};
const call = { ...protoCall, status: 'FAILED' };

function received(event: SessionEvent): SessionEvent {
  return SessionEvent.decode(Buffer.concat([SessionEvent.encode(event).finish(), unknownField]));
}

test('an event of an unknown kind has no payload', (t) => {
  t.is(eventPayload(received({ ...about, kind: undefined })), undefined);
});

test('unknown fields of an event are ignored', (t) => {
  t.deepEqual(written(received({ ...about, kind: { $case: 'sessionStatusChanged', value: { status: 'ENDED' } } })), {
    __typename: 'SessionStatusEvent',
    eventId: about.eventId,
    sessionId: 7,
    occurredAt: '2026-01-02T03:04:05.678Z',
    status: 'ENDED',
  });
});

test("a reply's message has the fields of the GraphQL type", (t) => {
  const structuredContent = { kind: 'card', buttons: [{ label: 'a', value: 'b' }] };
  const said = { role: 'MODEL', text: 'Hello 🦜', turnIndex: 1, tokensIn: 10, tokensOut: 2, modelId: 'test-model' };
  const end = { finishReason: 'LENGTH', tokensEstimated: true };
  const row = { id: 12, sessionId: 7, ...said, ...end };
  const message = {
    ...row,
    costUsdE8: 123_456_789n,
    structuredContentJson: JSON.stringify(structuredContent),
    citations: { citations: [citation] },
    toolCalls: { calls: [protoCall, { ...protoCall, status: 99 as never }] },
    createdAt: occurredAt,
    updatedAt: occurredAt,
  };
  const value = { clientTurnId: 'c-1', turnIndex: 0, interrupted: false, message };

  t.deepEqual(written({ ...about, kind: { $case: 'aiResponse', value } }), {
    __typename: 'AiResponseEvent',
    ...about,
    occurredAt: '2026-01-02T03:04:05.678Z',
    clientTurnId: 'c-1',
    turnIndex: 0,
    interrupted: false,
    finishReason: 'LENGTH',
    text: 'Hello 🦜',
    message: {
      ...row,
      costUsd: 1.23456789,
      structuredContent,
      citations: [citation],
      toolCalls: [call],
      createdAt: '2026-01-02T03:04:05.678Z',
      updatedAt: '2026-01-02T03:04:05.678Z',
    },
  });
});

test('a call of a tool has the fields of the GraphQL type, and no others', (t) => {
  const value = { clientTurnId: 'c-1', turnIndex: 0, attempt: 2, call: protoCall };
  const event = { ...about, occurredAt: '2026-01-02T03:04:05.678Z', clientTurnId: 'c-1', turnIndex: 0, attempt: 2 };
  t.deepEqual(written(received({ ...about, kind: { $case: 'toolCallChanged', value } })), {
    __typename: 'ToolCallEvent',
    ...event,
    ...call,
  });
  const running = { ...protoCall, status: ToolCallStatus.TOOL_CALL_STATUS_STARTED, durationMs: 0, errorKind: '' };
  t.like(written({ ...about, kind: { $case: 'toolCallChanged', value: { ...value, call: running } } }), {
    status: 'STARTED',
    durationMs: null,
    errorKind: null,
  });
});

test('a call in a status that only a newer version knows has no payload', (t) => {
  const value = { turnIndex: 0, attempt: 1, call: { ...protoCall, status: 99 as never } };
  t.is(eventPayload({ ...about, kind: { $case: 'toolCallChanged', value } }), undefined);
});

test('what a piece has for other processes is not for subscribers', (t) => {
  const value = { turnIndex: 0, attempt: 1, text: 'Hello', citations: { citations: [citation] } };
  t.false('citations' in written({ ...about, kind: { $case: 'aiResponseChunk', value } }));
});
