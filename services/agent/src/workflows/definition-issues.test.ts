import type { TenantCaller } from '@parley/kernel/caller';
import test from 'ava';
import { definitionIssues } from './definition-issues.ts';

const ports = {} as Parameters<typeof definitionIssues>[0]; // no service is asked about an invalid definition

test('at most two definitions of a tenant are checked before other work goes on', async (t) => {
  let isOver = false;
  let checked = new Set<number>();
  const rounds: Set<number>[] = [];
  const round = () => {
    rounds.push(checked);
    checked = new Set();
    if (!isOver) setImmediate(round);
  };
  setImmediate(round);
  const request = { caller: { tenantId: 1 } as TenantCaller, signal: new AbortController().signal };
  const numbers = [1, 2, 3, 4, 5, 6];
  const found = await Promise.all(
    numbers.map((number) =>
      definitionIssues(ports, request, {
        get version() {
          checked.add(number);
          return 2;
        },
      }),
    ),
  );
  isOver = true;
  rounds.push(checked);
  for (const issues of found) t.true(issues.length > 0);
  t.deepEqual(
    rounds.flatMap((each) => [...each]),
    numbers,
  );
  for (const { size } of rounds) t.true(size <= 2, `${size}`);
});
