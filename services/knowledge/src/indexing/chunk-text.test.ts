import { readFileSync } from 'node:fs';
import { estimateTokens } from '@parley/text/token-estimate';
import test from 'ava';
import { chunkText, chunkTokens } from './chunk-text.ts';
import { passageTokens } from './passage-tokens.ts';

const chunksOf = (text: string, pageStarts?: number[]) =>
  [...chunkText(text, pageStarts)].filter((chunk) => chunk !== undefined);
const contentsOf = (text: string) => chunksOf(text).map(({ content }) => content);
/** Makes a text of numbered sentences, each of which has 10 tokens. */
const prose = (sentences: number, from = 0) =>
  Array.from(
    { length: sentences },
    (_, n) => `Sentence ${String(from + n).padStart(5, '0')} has forty characters.`,
  ).join(' ');

test('a short text is one chunk', (t) => {
  t.deepEqual(chunksOf('Returns are free.'), [{ content: 'Returns are free.', heading: '', page: null }]);
});

test('a chunk has about 800 tokens and repeats the last 100 tokens of the previous chunk', (t) => {
  const contents = contentsOf(prose(1_000));
  t.true(contents.length > 10);
  for (const content of contents) t.true(estimateTokens(content) <= chunkTokens);
  for (const content of contents.slice(0, -1)) t.true(estimateTokens(content) >= 700);
  for (const [n, content] of contents.slice(1).entries()) {
    const before = contents[n] ?? '';
    const first = content.slice(0, content.indexOf('.') + 1);
    const repeated = before.slice(before.indexOf(first));
    t.true(before.includes(first), `chunk ${n + 1} begins with ${first}`);
    t.true(content.startsWith(repeated));
    t.true(estimateTokens(repeated) <= 100 && estimateTokens(repeated) >= 80, String(estimateTokens(repeated)));
  }
});

test('no sentence is lost or split between chunks', (t) => {
  const all = contentsOf(prose(1_000)).join('\n');
  for (let n = 0; n < 1_000; n += 1) {
    t.true(all.includes(`Sentence ${String(n).padStart(5, '0')} has forty characters.`), String(n));
  }
});

test('chunks are cut at paragraphs rather than at sentences', (t) => {
  const paragraphs = [prose(50), prose(25, 50), prose(30, 75)];
  const [first, second] = contentsOf(paragraphs.join('\n\n'));
  t.is(first, `${paragraphs[0]}\n\n${paragraphs[1]}`);
  t.true(second?.endsWith(`\n\n${paragraphs[2]}`));
});

test('a heading begins a new chunk if the previous one has at least 200 tokens; nothing is repeated before the heading', (t) => {
  const contents = contentsOf(`# Returns\n\n${prose(30)}\n\n## Fees\n\n${prose(5, 100)}`);
  t.deepEqual(contents, [`# Returns\n\n${prose(30)}`, `## Fees\n\n${prose(5, 100)}`]);
});

test('short sections share a chunk', (t) => {
  t.is(contentsOf('# A\n\nOne.\n\n# B\n\nTwo.').length, 1);
});

test('a chunk has the path of the headings above it', (t) => {
  const text = `# Shop\n\n## Returns\n\n${prose(100)}\n\n### Fees ###\n\n${prose(30)}\n\n## Gifts\n\n${prose(30)}\n\n# End\n\n${prose(30)}`;
  const paths = chunksOf(text).map(({ heading }) => heading);
  t.deepEqual([...new Set(paths)], ['Shop > Returns', 'Shop > Returns > Fees', 'Shop > Gifts', 'End']);
});

test('lines that only resemble headings are text', (t) => {
  for (const text of ['#no space', '####### seven', '```\n# code\n```\ntext', '#', '# ']) {
    t.is(chunksOf(`${text}\n\nBody.`)[0]?.heading, '', text);
  }
});

test('a code block ends at a fence of its own sign and length, and is in one chunk', (t) => {
  for (const [open, inner, close] of [
    ['````md', '```\n# inner\n```', '````'],
    ['~~~~', '~~~\n# inner\n```\n\n# more', '~~~~~'],
    ['```js title="a"', '~~~\n# inner', '```'],
    ['  `````', '````\n\n# inner\n\n````', '  `````  '],
  ]) {
    const block = `${open}\n${inner}\n${close}`;
    const chunks = chunksOf(`# Guide\n\n## Use\n\n${prose(60)}\n\n${block}\n\n## Limits\n\n${prose(60)}`);
    t.deepEqual([...new Set(chunks.map(({ heading }) => heading))], ['Guide > Use', 'Guide > Limits'], open);
    t.is(chunks.filter(({ content }) => content.includes(block.trim())).length, 1, open);
  }
});

test('a code block that is too long for a chunk has no headings, and a fence within a line opens no block', (t) => {
  const code = '# inner\n\n```\ncode\n'.repeat(300);
  const long = ['# A\n', '````', code, '````', '\n# B\n', prose(30)].join('\n');
  t.deepEqual([...new Set(chunksOf(long).map(({ heading }) => heading))], ['A', 'B']);
  for (const line of ['```code``` in a line', '``` a `b`']) {
    t.is(chunksOf(`${prose(30)}\n\n${line}\n\n# A\n\n${prose(30)}`).at(-1)?.heading, 'A', line);
  }
});

test('the document of a case keeps its code block with a fence of four signs', (t) => {
  const chunks = chunksOf(readFileSync(new URL('../../test/cases/nested.md', import.meta.url), 'utf8'));
  t.deepEqual(
    chunks.map(({ heading, content }) => [heading, content.split('\n')[0]]),
    [
      ['Guide > Use', '# Guide'],
      ['Guide > Limits', '## Limits'],
    ],
  );
  t.true(chunks[0]?.content.endsWith('````md\n```\n# inner\n```\n````'));
});

test('an underlined line is a heading of the first or second level, in one chunk with its underline', (t) => {
  const text = `Shop\n=====\n\nReturns\n  -------\n${prose(30)}\n\n### Fees\n1. Gifts\n==\n${prose(50, 100)}\n\nEnd\n---\nLast.`;
  const chunks = chunksOf(text);
  t.deepEqual(
    chunks.map(({ heading }) => heading),
    ['Shop > Returns', '1. Gifts', '1. Gifts > End'],
  );
  t.deepEqual(
    chunks.map(({ content }) => content),
    [
      `Shop\n=====\n\nReturns\n  -------\n\n${prose(30)}`,
      `### Fees\n\n1. Gifts\n==\n\n${prose(50, 100)}`,
      'End\n---\n\nLast.',
    ],
  );
});

test('underlined lines that only resemble headings are text', (t) => {
  for (const text of [
    'one\ntwo\n---',
    '---\ntitle: front matter\n---',
    '- a point\n---',
    '2. a point\n---',
    '> a quote\n---',
    '    code\n===',
    '***\n---',
    'Regards\n-- \nAda',
    'a\n=\nb',
    'a\n\n---',
    'a\n--- b',
    'a\n=-=',
    'a\n    ---',
    'a\n\\---',
    '```\n\ncode\n---\n```\ntext',
    '| a |\n---',
    `${'word '.repeat(50)}\n---`,
  ]) {
    t.is(chunksOf(`${text}\n\n${prose(100)}`).at(-1)?.heading, '', text);
  }
});

const row = (n: number) => `| ${n} | ${'value '.repeat(10)}| ${n * 2} |`;

test('each chunk of a table begins with its header row, and no other row is cut or repeated', (t) => {
  const header = '| id | text | twice |\n|---|:---|---:|';
  const rows = Array.from({ length: 200 }, (_, n) => row(n));
  const contents = contentsOf(`# Rates\n\nBefore.\n\n${header}\n${rows.join('\n')}\n\nAfter.`);
  t.true(contents.length >= 4);
  for (const content of contents) t.true(content.includes(header), content.slice(0, 100));
  for (const content of contents.slice(1)) t.true(content.startsWith(`${header}\n|`));
  t.deepEqual(contents.join('\n').match(/^\| \d.*$/gmu), rows);
  for (const content of contents) t.true(estimateTokens(content) <= chunkTokens);
});

test('the last few rows of a table do not become a chunk of their own', (t) => {
  const header = '| id | text | twice |\n|---|:---|---:|';
  for (let rows = 35; rows < 140; rows += 1) {
    const table = `${header}\n${Array.from({ length: rows }, (_, n) => row(n)).join('\n')}`;
    for (const after of ['', '\n\nAfter.', `\n\n# End\n\n${prose(30)}`]) {
      const contents = contentsOf(`${table}${after}`);
      t.deepEqual(contents.join('\n').match(/^\| \d.*$/gmu), table.split('\n').slice(2));
      for (const content of contents) {
        const count = content.match(/^\| \d/gmu)?.length;
        t.true(count === undefined || count >= 10, `${rows} rows, ${count} in a chunk`);
        t.true(estimateTokens(content) <= chunkTokens);
      }
    }
  }
});

test('the last row of separated values does not become a chunk of its own', (t) => {
  for (let rows = 150; rows < 400; rows += 7) {
    const lines = Array.from({ length: rows }, (_, n) => `${n},some text,${n * 2}`);
    const contents = contentsOf(['id,text,twice', ...lines].join('\n'));
    const counts = contents.map((content) => content.split('\n').length - 1);
    t.true(Math.min(...counts) >= 40, `${counts}`);
    t.is(
      counts.reduce((sum, count) => sum + count),
      rows,
    );
  }
});

test('chunks of other sizes stay within their token limit, in every script', (t) => {
  const texts = {
    English: prose(300),
    Russian: 'Возврат товара возможен в течение тридцати дней. '.repeat(200),
    Chinese: `${'退款会在十天之内到账'.repeat(4)}。`.repeat(60),
    Korean: '환불은 열흘 안에 됩니다. '.repeat(200),
    Thai: 'การคืนสินค้าทำได้ภายในสามสิบวัน'.repeat(60),
    table: ['| id | text | twice |', '|---|---|---|', ...Array.from({ length: 200 }, (_, n) => row(n))].join('\n'),
  };
  for (const [name, text] of Object.entries(texts)) {
    for (const maxTokens of [800, 384, 100, 40]) {
      const contents = [...chunkText(text, [], maxTokens)].flatMap((chunk) => (chunk ? [chunk.content] : []));
      t.true(contents.length > 1, name);
      for (const content of contents) t.true(passageTokens(content) <= maxTokens, `${name}, ${maxTokens}`);
      for (const content of contents.slice(0, -2))
        t.true(passageTokens(content) > maxTokens / 4, `${name}, ${maxTokens}: ${passageTokens(content)}`);
    }
  }
});

test('a pipe table without a delimiter row keeps its first row', (t) => {
  const contents = contentsOf(['| id | text |', ...Array.from({ length: 200 }, (_, n) => row(n))].join('\n'));
  t.true(contents.length > 1);
  for (const content of contents) t.true(content.startsWith('| id | text |\n|'));
});

test('rows of separated values keep their header row', (t) => {
  for (const separator of [',', ';', '\t']) {
    const rows = Array.from({ length: 500 }, (_, n) => [n, 'some text', n * 2].join(separator));
    const header = ['id', 'text', 'twice'].join(separator);
    const contents = contentsOf([header, ...rows].join('\n'));
    t.true(contents.length > 1);
    for (const content of contents) t.true(content.startsWith(`${header}\n`));
  }
});

test('prose with commas is not a table', (t) => {
  const line = (n: number) =>
    `${n} apples, pears, plums, and everything that grows in the garden behind the old house,`;
  const contents = contentsOf(Array.from({ length: 100 }, (_, n) => line(n)).join('\n'));
  t.true(contents.length > 1);
  t.false(contents[1]?.startsWith(line(0)));
});

test('a too long header is truncated, and a too long row continues below the header', (t) => {
  const contents = contentsOf(`| ${'wide '.repeat(1_000)}|\n|---|\n| ${'word '.repeat(3_000)}|\n| last |`);
  for (const content of contents) t.true(estimateTokens(content) <= chunkTokens);
  for (const content of contents.slice(3)) t.true(content.startsWith('| wide '));
  t.true(contents.at(-1)?.endsWith('| last |'));
});

test('a chunk has the page on which its own text begins, not the repeated text', (t) => {
  const pages = [prose(100), prose(100, 100), prose(100, 200)].map((page) => `${page}\n\n`);
  const starts = [0, pages[0]?.length ?? 0, (pages[0]?.length ?? 0) + (pages[1]?.length ?? 0)];
  const chunks = chunksOf(pages.join(''), starts);
  for (const { page, content } of chunks) {
    const own = [...content.matchAll(/Sentence (\d+)/gu)].map(([, n]) => Number(n));
    const begins = own.find(
      (n) =>
        !chunks[chunks.findIndex((each) => each.content === content) - 1]?.content.includes(
          `Sentence ${String(n).padStart(5, '0')}`,
        ),
    );
    t.is(page, Math.floor((begins ?? 0) / 100) + 1);
  }
  t.deepEqual([...new Set(chunks.map(({ page }) => page))], [1, 2, 3]);
  t.is(chunksOf('a', [])[0]?.page, null);
  t.is(chunksOf('a', [5])[0]?.page, 1);
});

test('sentences of scripts without spaces end after their punctuation', (t) => {
  const sentence = `${'文'.repeat(39)}。`;
  const contents = contentsOf(sentence.repeat(300));
  t.true(contents.length > 3);
  for (const content of contents) t.regex(content, /^文{39}。/u);
});

test('a code point is never cut in two', (t) => {
  for (const text of ['🦜'.repeat(20_000), `a${'🦜'.repeat(20_000)}`, `| ${'🦜'.repeat(20_000)} |\n| x |`]) {
    const chunks = chunksOf(text);
    t.true(chunks.length > 1);
    for (const { content } of chunks) {
      t.true(content.isWellFormed());
      t.true(estimateTokens(content) <= chunkTokens);
    }
  }
  t.true(chunksOf(`# ${'🦜'.repeat(500)}\n\nbody`)[0]?.heading.isWellFormed());
});

test('other work may run while a long text is chunked, even a text without any chunk', (t) => {
  for (const text of ['word '.repeat(200_000), `a${' '.repeat(1_000_000)}b`, 'a\n'.repeat(500_000)]) {
    let pauses = 0;
    for (const chunk of chunkText(text)) if (chunk === undefined) pauses += 1;
    t.true(pauses >= 10, `${pauses} pauses`);
  }
});

const million = 1_000_000;
const hostile: Record<string, string> = {
  'the longest text that a file may have': 'word '.repeat(1_000_000),
  'no newline and no space': 'x'.repeat(million),
  'no newline': 'word '.repeat(million / 5),
  'newlines alone between two letters': `a${'\n'.repeat(million)}b`,
  'spaces alone between two letters': `a${' '.repeat(million)}b`,
  'one endless row of a table': `| a | b |\n|---|---|\n| ${'x | '.repeat(million / 4)}`,
  'an endless header of a table': `| ${'x | '.repeat(million / 4)}\n|---|\n| a |`,
  'millions of headings': '# a\n'.repeat(million / 4),
  'headings of all levels': Array.from({ length: million / 10 }, (_, n) => `${'#'.repeat((n % 6) + 1)} h\n\nx\n`).join(
    '',
  ),
  'an endless heading': `# ${'x'.repeat(million)}`,
  'millions of underlined headings': 'title\n-----\n'.repeat(million / 12),
  'an endless underline': `a\n${'='.repeat(million)}`,
  'signs of sentences': '. '.repeat(million / 2),
  'rows of pipes': '|\n'.repeat(million / 2),
  'delimiters of tables': '|-|\n'.repeat(million / 4),
  'rows of commas': ',,,\n'.repeat(million / 4),
  'a fence that never ends': `\`\`\`\n${'# a\n'.repeat(million / 4)}`,
  'fences that open blocks of many lengths': Array.from({ length: 1_000 }, (_, n) => `${'`'.repeat(n + 3)}\n`).join(''),
  'blocks without end': '~~~\nx\n'.repeat(million / 6),
  'carriage returns': 'a\r\n'.repeat(million / 3),
  'long words between short ones': `${'x'.repeat(1_500)} a `.repeat(million / 1_503),
};

for (const [name, text] of Object.entries(hostile)) {
  test(`a hostile text is chunked in linear time: ${name}`, (t) => {
    const from = performance.now();
    const chunks = chunksOf(text);
    const ms = performance.now() - from;
    t.true(ms < 10_000, `${ms} ms`);
    t.true(chunks.length <= text.length / 600, `${chunks.length} chunks`);
    for (const { content, heading } of chunks) {
      t.true(estimateTokens(content) <= chunkTokens && content !== '' && heading.length <= 1_300);
    }
  });
}
