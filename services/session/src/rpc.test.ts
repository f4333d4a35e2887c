import type { FollowSessionRequest, SessionEvent } from '@parley/protos/parley/session/v1/session';
import type { MeshCall } from '@parley/rpc/server';
import test from 'ava';
import type { Ports } from './ports.ts';
import { sessionRpc } from './rpc.ts';
import type { watchSession } from './watch-session.ts';

const none = {} as Ports;
const signal = () => new AbortController().signal;
const event: SessionEvent = { eventId: '1-1', sessionId: 7, occurredAt: undefined, kind: undefined };

/** A long replay, which checks no signal between two reads of the database. */
function replaying() {
  const replay = { shown: 0, isOver: false };
  async function* watch() {
    try {
      for (; replay.shown < 10_000; replay.shown += 1) yield event;
    } finally {
      replay.isOver = true;
    }
  }
  return { replay, rpc: sessionRpc(none, watch) };
}

const callOf = (draining: AbortSignal) => ({ signal: signal(), draining }) as MeshCall;

test('a replay ends when its client leaves', async (t) => {
  const { replay, rpc } = replaying();
  const leaving = Promise.withResolvers<void>();
  async function* requests(): AsyncGenerator<FollowSessionRequest> {
    yield { sessionId: 7, after: '0' };
    await leaving.promise;
  }
  for await (const _ of rpc.followSession(requests(), callOf(signal()))) {
    if (replay.shown === 3) leaving.resolve();
  }
  t.true(replay.isOver && replay.shown < 10_000);
});

test('a replay ends when its replica stops', async (t) => {
  const { replay, rpc } = replaying();
  const draining = new AbortController();
  for await (const _ of rpc.watchSession({ sessionId: 7, after: '0' }, callOf(draining.signal))) {
    if (replay.shown === 3) draining.abort();
  }
  t.deepEqual(replay, { shown: 4, isOver: true });
});

test('a stream sends its header when it is live, before the first event', async (t) => {
  const watch: typeof watchSession = async function* (_ports, _caller, { follows }) {
    follows?.();
    t.is(sent, 1);
    yield event;
  };
  let sent = 0;
  const header = new Map();
  const sendHeader = () => {
    sent += 1;
  };
  const call = { ...callOf(signal()), header, sendHeader } as unknown as MeshCall;
  for await (const _ of sessionRpc(none, watch).watchSession({ sessionId: 7 }, call));
  t.true(header.has('parley-following'));
});
