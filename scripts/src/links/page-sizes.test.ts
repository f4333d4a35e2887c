import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { checkPageSizes } from './page-sizes.ts';

/** Returns the problems of a page with this text. */
function problems(t: ExecutionContext, text: string, maxLines: Record<string, number> = {}): string[] {
  const root = mkdtempSync(join(tmpdir(), 'parley-page-sizes-'));
  t.teardown(() => rmSync(root, { recursive: true }));
  writeFileSync(join(root, 'README.md'), text);
  return checkPageSizes(root, ['README.md'], maxLines);
}

const wide = 'word '.repeat(17).trim();

test('a line of 80 columns is accepted, and a wider line is reported', (t) => {
  t.is(wide.length, 84);
  t.deepEqual(problems(t, `${wide.slice(0, 80)}\n`), []);
  t.deepEqual(problems(t, `# Page\n\n${wide.slice(0, 81)}\n`), ['README.md:3: 81 columns, of at most 80']);
});

test('columns are characters, not bytes', (t) => {
  t.deepEqual(problems(t, `${'…'.repeat(40)} ${'…'.repeat(39)}`), []);
});

test('wide lines of tables, lists and comments are reported', (t) => {
  const found = problems(t, `| ${wide} |\n\n- ${wide}\n\n<!-- ${wide} -->`);
  t.deepEqual(
    found.map((line) => line.split(':')[1]),
    ['1', '3', '5'],
  );
});

test('wide lines of code blocks and definitions of links are accepted', (t) => {
  const block = `\`\`\`sh\n${wide}\n\`\`\``;
  const inList = `- item\n\n  \`\`\`sh\n  ${wide}\n  \`\`\``;
  const nested = `\`\`\`\`md\n\`\`\`\n${wide}\n\`\`\`\n${wide}\n\`\`\`\``;
  t.deepEqual(problems(t, [block, inList, nested, `[page]: ${wide}`].join('\n\n')), []);
  t.deepEqual(problems(t, `${block}\n\n${wide}`), ['README.md:5: 84 columns, of at most 80']);
});

test('a line that is one code span or link is accepted, but not one with another word', (t) => {
  const span = `\`${wide}\``;
  const link = `[a page](https://example.com/${'x'.repeat(80)})`;
  t.deepEqual(problems(t, [`  ${span}.`, `- ${span}`, `3. ${link};`, `${link} ·`].join('\n\n')), []);
  t.is(problems(t, [`${span} and`, `- see ${link}`].join('\n\n')).length, 2);
});

test('a page with more lines than its limit is reported', (t) => {
  t.deepEqual(problems(t, 'a\nb\n', { 'README.md': 2 }), []);
  t.deepEqual(problems(t, 'a\nb\nc\n', { 'README.md': 2 }), ['README.md: 3 lines, of at most 2']);
});
