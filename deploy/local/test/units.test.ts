import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { addressSettings } from '@parley/unit/address-settings';
import { units } from '@parley/units';
import { settingsOfUnit } from '@parley/units/settings';
import test from 'ava';
import { groupsOf, loadUnits, misfits } from '../src/load-units.ts';

const root = join(import.meta.dirname, '../../..');
/** Returns the workspaces that contain a file that matches the pattern. */
const workspacesWith = (file: string) =>
  globSync(`{gateway,services/*}/src/${file}`, { cwd: root }).map((path) => dirname(dirname(path)));

test('every workspace that can run as a process is in the list of units, with its schema and its subgraph', (t) => {
  const folders = (listed: { folder: string }[]) => listed.map(({ folder }) => folder).toSorted();
  t.deepEqual(folders([...units]), workspacesWith('main.ts').toSorted());
  t.deepEqual(folders(units.filter(({ schema }) => schema)), workspacesWith('*-schema.ts').toSorted());
  t.deepEqual(
    folders(units.filter(({ serves }) => serves.includes('graph'))),
    workspacesWith('schema.graphql').toSorted(),
  );
});

test('the units fit together, and the groups of each topic are the units that declare its events', async (t) => {
  const loaded = await loadUnits();
  t.deepEqual(
    loaded.map(({ name }) => name),
    units.map(({ name }) => name),
  );
  const groups = groupsOf(loaded);
  for (const { name, types } of units.flatMap(({ publishes = [] }) => publishes)) {
    const consumers = units.filter(({ consumes = [] }) => consumes.some((type) => types.includes(type)));
    t.deepEqual(
      groups[name] ?? [],
      consumers.map((unit) => unit.name),
    );
  }
});

test('the addresses that a unit requires at its start are those in its list of settings', async (t) => {
  for (const unit of units) {
    const required = Object.keys(addressSettings(await (await unit.load()).uses()));
    const listed = settingsOfUnit(unit).own.map(({ name }) => name);
    t.deepEqual(
      required.toSorted(),
      listed.filter((name) => /_(RPC|GRAPH|HTTP)_URL$/u.test(name)).toSorted(),
      unit.name,
    );
  }
});

test('calls and consumed events that no other unit serves or publishes are named', (t) => {
  const topic = { name: 'note-written', types: ['note.written.v1'], partitions: 2, retentionMs: 1_000 } as const;
  const notes = { name: 'notes', serves: ['rpc'], publishes: [topic], calls: [], consumes: [] } as const;
  const written = { topic: 'note-written', type: 'note.written.v1' };
  const reader = { name: 'reader', serves: ['graph'], calls: ['notes'], consumes: [written] } as const;
  t.deepEqual(misfits([notes, reader]), []);
  t.deepEqual(misfits([notes, { ...reader, consumes: [written, { ...written, type: 'note.writen.v1' }] }]), [
    'reader consumes note.writen.v1 from note-written, which no unit publishes there',
  ]);
  t.deepEqual(misfits([reader]), [
    'reader consumes note.written.v1 from note-written, which no unit publishes there',
    'reader calls notes, which is no unit that serves rpc',
  ]);
  t.deepEqual(misfits([notes, { ...notes, name: 'copy', calls: ['reader'] }, reader]), [
    'more than one unit publishes note-written',
    'copy calls reader, which is no unit that serves rpc',
  ]);
});
