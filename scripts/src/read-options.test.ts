import test from 'ava';
import { startChild } from './testing/child.ts';

for (const command of ['compose', 'dev', 'generate', 'lock']) {
  test(`${command} --help says how it is used, and does nothing else`, async (t) => {
    const child = startChild(t, command, { args: ['--help'] });
    t.is(await child.ended, 0);
    t.regex(child.stdout, new RegExp(`^[A-Z][^]*\\n  scripts/${command}\\b`, 'u'));
    t.false(child.stdout.includes('composed of'));
    t.is(child.stderr, '');
  });

  test(`${command} refuses an option that it does not know, and shows those that it does`, async (t) => {
    const child = startChild(t, command, { args: ['--chek'] });
    t.is(await child.ended, 2);
    t.regex(child.stderr, new RegExp(`--chek[^]*\\n  scripts/${command}\\b`, 'u'));
    t.is(child.stdout, '');
  });
}
