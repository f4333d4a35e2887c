import test from 'ava';
import { startChild } from './testing/child.ts';

// Other commands have their own tests, or run as checks. allow-name workflow: the command, not the operation.
for (const command of ['dev', 'migrate', 'topics', 'workflow']) {
  test(`${command} --help prints its usage, and does nothing else`, async (t) => {
    const child = startChild(t, command, { args: ['--help'] });
    t.is(await child.ended, 0);
    t.regex(child.stdout, new RegExp(`^[A-Z][^]*\\n  scripts/${command}\\b`, 'u'));
    t.is(child.stderr, '');
  });
}

test('rpc lists the methods of a unit', async (t) => {
  const child = startChild(t, 'rpc', { args: ['evaluation'] });
  t.is(await child.ended, 0);
  t.regex(child.stdout, /^evaluation GetEvaluation\(/u);
});

for (const [args, problem] of [
  [['--chek'], /--chek/u],
  [['all'], /Unexpected argument: all/u],
] as const) {
  test(`a command refuses ${args.join()}, and prints its usage`, async (t) => {
    const child = startChild(t, 'lock', { args: [...args] });
    t.is(await child.ended, 2);
    t.regex(child.stderr, problem);
    t.regex(child.stderr, /\n {2}scripts\/lock\b/u);
    t.is(child.stdout, '');
  });
}
