import { globSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, ConversationMessage, GetAgentResponse } from '@parley/protos/parley/agent/v1/agent';
import { SessionLogEntry } from '@parley/protos/parley/session/v1/event_log';
import { SessionEvent } from '@parley/protos/parley/session/v1/session';
import test from 'ava';
import { root } from '../root.ts';

/** Field 1000 in each wire type of protobuf: varint, 64 bits, bytes (a string or message), 32 bits. */
const unknownFields = Buffer.from('c03e9601 c13e0102030405060708 c23e03089601 c53e01020304'.replaceAll(' ', ''), 'hex');

interface MessageType {
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  fromPartial(partial: object): unknown;
}

function isMessageType(value: unknown): value is MessageType {
  return typeof value === 'object' && value !== null && 'decode' in value && 'fromPartial' in value;
}

async function messageTypes(): Promise<[string, MessageType][]> {
  const folder = join(root, 'protos/gen/parley');
  const modules = globSync('**/*.ts', { cwd: folder }).map(async (file): Promise<Record<string, unknown>> => {
    return import(join(folder, file));
  });
  return (await Promise.all(modules))
    .flatMap((module) => Object.entries(module))
    .flatMap(([name, type]) => (isMessageType(type) ? [[name, type] as [string, MessageType]] : []));
}

test('every message can be read if a newer sender added fields', async (t) => {
  const types = await messageTypes();
  t.true(types.length > 30, 'the messages are found');
  for (const [name, type] of types) {
    t.deepEqual(type.decode(unknownFields), type.fromPartial({}), name);
  }
});

test('known fields keep their values, with unknown fields before, after and inside of them', (t) => {
  const message = Agent.fromPartial({ id: 7, name: 'Ü🦜', evaluationRecommendationLabels: { labels: ['a', ''] } });
  const bytes = Agent.encode(message).finish();
  t.deepEqual(Agent.decode(Buffer.concat([unknownFields, bytes, unknownFields])), message);

  const inside = Buffer.concat([bytes, unknownFields]);
  const outside = Buffer.concat([Buffer.from([0x0a, inside.length]), inside]);
  t.deepEqual(GetAgentResponse.decode(outside), { agent: message });
});

test('an unknown case of a oneof is read as no case', (t) => {
  const event = SessionEvent.fromPartial({ eventId: '1-0', sessionId: 7 });
  const bytes = Buffer.concat([SessionEvent.encode(event).finish(), unknownFields]);

  t.deepEqual(SessionEvent.decode(bytes), { ...event, kind: undefined });
  t.is(SessionLogEntry.decode(unknownFields).kind, undefined);
});

test('an unknown value of an enum keeps its number, and the other fields are read', (t) => {
  const bytes = Buffer.concat([Buffer.from([0x08, 99]), Buffer.from([0x12, 2]), Buffer.from('hi')]);

  t.deepEqual(Object.entries(ConversationMessage.decode(bytes)), [
    ['role', 99],
    ['text', 'hi'],
  ]);
});
