import { readFileSync } from 'node:fs';
import test from 'ava';
import { measured, ways } from './follow-ups.ts';

const readme = readFileSync(new URL('../../../../services/agent/DESIGN.md', import.meta.url), 'utf8');

test('fifty dialogues are searched for as well, and at as many calls, as the table of agent states', (t) => {
  const rows = ways.map((way) => {
    const { dialogues, found, calls, tokens } = measured(way);
    t.is(dialogues, 50);
    return [way.name, found, calls, tokens];
  });
  for (const [name, ...figures] of rows) {
    const row = readme.split('\n').find((line) => line.includes(`| ${name} `)) ?? '';
    t.deepEqual(
      row
        .split('|')
        .slice(2, -1)
        .map((cell) => Number(cell.trim().replace(',', ''))),
      figures,
      String(name),
    );
  }
});

test('the rule has a model asked for nearly all messages that lean on the conversation, and for no other', (t) => {
  const rule = ways.find(({ name }) => name === 'made to stand alone, by the rule');
  t.like(rule && measured(rule), { needless: 0, missed: 1 });
});
