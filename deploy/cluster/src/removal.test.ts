import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder, unabortedSignal } from '@parley/servers/testing/folder';
import test, { type ExecutionContext } from 'ava';
import { clear, type Steps } from './removal.ts';
import { isMarkedUp, markUp } from './up-mark.ts';

const failing = (message: string) => () => Promise.reject(new Error(message));

function stateOf(t: ExecutionContext): string {
  const state = join(emptyFolder(t), 'run');
  mkdirSync(state);
  return state;
}

/**
 * Removes a cluster.
 * @param before the content of the file with the machine's state before `up`; default: no file
 * @returns the names of the steps that ran, and the result
 */
async function remove(
  t: ExecutionContext,
  { before, signal = unabortedSignal, ...own }: Partial<Steps> & { before?: string; signal?: AbortSignal },
  state = stateOf(t),
) {
  if (before !== undefined) writeFileSync(join(state, 'before.json'), before);
  const ran: string[] = [];
  const step = (name: string) => async () => void ran.push(name);
  const steps: Steps = {
    leave: step('leave'),
    endProcesses: step('endProcesses'),
    removeNetwork: step('removeNetwork'),
    restoreSysctls: () => void ran.push('restoreSysctls'),
    look: async () => ({ links: ['lo'] }),
    ...own,
  };
  const options = { folders: { tools: '', state }, signal, say: () => undefined };
  const removing = clear(options, steps);
  return { ran, removing, state };
}

test('a removal reports differences from the state before', async (t) => {
  const { removing, state } = await remove(t, { before: '{"links":["lo","eth0"]}' });
  t.deepEqual(await removing, { failures: [], differences: ['- links: eth0'] });
  t.false(existsSync(state));
});

test('a step that fails does not prevent the others, and is reported', async (t) => {
  const { ran, removing, state } = await remove(t, {
    leave: failing('outside.json is not JSON'),
    restoreSysctls() {
      throw new Error('sysctls.json is not JSON');
    },
    before: '{"lin',
  });
  const removed = await removing;
  t.deepEqual(removed?.failures, [
    'outside.json is not JSON',
    `${join(state, 'before.json')} is not JSON`,
    'sysctls.json is not JSON',
  ]);
  t.is(removed?.differences, undefined);
  t.deepEqual(ran, ['endProcesses', 'removeNetwork']);
  t.false(existsSync(state));
});

test('a removal that is aborted while it waits for the installation changes nothing', async (t) => {
  const state = stateOf(t);
  markUp({ state });
  const stop = new AbortController();
  const leave = async () => stop.signal.throwIfAborted();
  stop.abort(new Error('interrupted'));
  const { ran, removing } = await remove(t, { leave, signal: stop.signal }, state);
  await t.throwsAsync(removing, { message: 'interrupted' });
  t.deepEqual(ran, []);
  t.true(isMarkedUp({ state }, state));
});

test('while processes remain, the state folder remains for the next removal', async (t) => {
  const { ran, removing, state } = await remove(t, { endProcesses: failing('they do not end') });
  await t.throwsAsync(removing, { message: 'they do not end' });
  t.deepEqual(ran, ['leave', 'removeNetwork', 'restoreSysctls']);
  t.true(existsSync(state));
});

test('a cluster that is removed in part does not count as up', async (t) => {
  const state = stateOf(t);
  markUp({ state });
  t.true(isMarkedUp({ state }, state));
  t.false(isMarkedUp({ state }, '/other'));
  t.false(isMarkedUp({ state }, undefined));
  const endProcesses = failing('they do not end');
  await t.throwsAsync((await remove(t, { endProcesses }, state)).removing);
  t.false(isMarkedUp({ state }, state));
});
