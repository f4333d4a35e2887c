import test from 'ava';
import { countTap, withoutPassed } from './tap.ts';

const report = `TAP version 13
ok 1 - a › the first
not ok 2 - a › the second
  ---
    name: AssertionError
    message: ok 7 - is no result
  ...
ok 3 - a › left for later # SKIP
ok 4 - a › thought of # TODO
ok 5 - b › handles "# SKIPPING" in a title

1..5
# tests 4
`;

test('passed, failed and skipped tests are counted apart', (t) => {
  t.deepEqual(countTap(report), { passed: 2, failed: 1, skipped: 2 });
});

test('a report without results counts nothing', (t) => {
  t.deepEqual(countTap('TAP version 13\n1..0\n'), { passed: 0, failed: 0, skipped: 0 });
});

test('what is shown of a report keeps the failures and drops what passed', (t) => {
  const shown = withoutPassed(report);
  t.regex(shown, /not ok 2 - a › the second\n.*\n.*AssertionError/);
  t.notRegex(shown, /the first/);
});
