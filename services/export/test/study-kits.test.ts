import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { renderer } from '../src/renderer.ts';
import type { StudyKitContent } from '../src/study-kit.ts';
import { pagesOf, textOf, withoutSpaces } from './pdf-text.ts';
import { contentOf, conversation, scripts } from './samples.ts';

async function rendered(t: ExecutionContext, content: StudyKitContent) {
  const made = renderer({ timeoutMs: 60_000, maxMemoryMb: 1_024, maxBytes: 50_000_000 });
  t.teardown(() => made.stop());
  const kit = made.prepare(content);
  return { ...kit, ...(await made.render(kit, AbortSignal.timeout(120_000))) };
}

const said = (...texts: string[]) => contentOf(conversation(texts.length, texts));

test('a study kit has cover, instructions, transcript, evaluation, key points and practice prompts, in this order', async (t) => {
  const { pdf, pages } = await rendered(t, contentOf(conversation(40)));
  const texts = await pagesOf(pdf);
  t.is(texts.length, pages);
  t.regex(
    texts[0] ?? '',
    /Study kit[\s\S]*Ada[\s\S]*Tutor[\s\S]*Algebra[\s\S]*42[\s\S]*40[\s\S]*2026-11-28 10:00 – 10:13 UTC/u,
  );
  const parts = ['How to use this kit', 'Transcript', 'Evaluation', 'Key points', 'Practice prompts'];
  const after = texts.slice(1).join('\n');
  const places = parts.map((part) => after.indexOf(part));
  t.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  t.true(places.every((place) => place >= 0));
});

test('text in Latin, Greek, Cyrillic, Chinese and Arabic can be copied from it', async (t) => {
  const text = await textOf((await rendered(t, contentOf(conversation(10)))).pdf);
  for (const each of [...scripts.latin, ...scripts.greek, ...scripts.cyrillic, ...scripts.chinese]) {
    t.true(text.includes(withoutSpaces(each)), each);
  }
  // The PDF reader reverses right-to-left words, and repeats letters of some ligatures, such as lam and jeem.
  const words = scripts.arabic.flatMap((each) => each.match(/[\u0621-\u064A]+/gu) ?? []);
  t.true(words.length > 15);
  t.deepEqual(
    words.filter((word) => !text.includes(word)),
    ['الجبر'],
  );
});

test('the same content has the same bytes in two processes and time zones', async (t) => {
  const { pdf, contentHash } = await rendered(t, contentOf(conversation(30)));
  const script = `
    import { renderer } from ${JSON.stringify(fileURLToPath(new URL('../src/renderer.ts', import.meta.url)))};
    import { contentOf, conversation } from ${JSON.stringify(fileURLToPath(new URL('./samples.ts', import.meta.url)))};
    import { createHash } from 'node:crypto';
    const made = renderer({ timeoutMs: 60_000, maxMemoryMb: 1_024, maxBytes: 50_000_000 });
    const kit = made.prepare(contentOf(conversation(30)));
    const { pdf } = await made.render(kit, AbortSignal.timeout(120_000));
    console.log(JSON.stringify([kit.contentHash, createHash('sha256').update(pdf).digest('hex')]));`;
  const there = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env: { TZ: 'Pacific/Kiritimati', LANG: 'ar_EG.UTF-8', HOME: '/nowhere' },
    cwd: '/',
  });
  t.deepEqual(JSON.parse(there.stdout), [contentHash, createHash('sha256').update(pdf).digest('hex')]);
});

test('a different word, evaluation or state gives a different file', async (t) => {
  const made = renderer({ timeoutMs: 60_000, maxMemoryMb: 1_024, maxBytes: 50_000_000 });
  const hashOf = (content: StudyKitContent) => made.prepare(content).contentHash;
  const contents = [
    contentOf(conversation(4)),
    contentOf(conversation(5)),
    contentOf(conversation(4), { evaluation: undefined }),
    contentOf(conversation(4), { evaluation: undefined, isActive: true }),
    contentOf(conversation(4), { agent: { name: 'Bob', position: 'Tutor', subject: 'Algebra' } }),
  ];
  t.is(new Set(contents.map(hashOf)).size, contents.length);
  t.is(hashOf(contentOf(conversation(4))), hashOf(contentOf(conversation(4))));
});

test('Typst markup in any text is shown literally', async (t) => {
  const hostile =
    '#eval("1") #read("/etc/passwd") #import "@preview/x:1.0.0" $x^2$ *bold* _it_ = Heading <label> @ref `raw` \\ ] } #panic()';
  const content = said(hostile, `${hostile}\n= ${hostile}`);
  const { pdf } = await rendered(t, {
    ...content,
    agent: { name: hostile, position: hostile, subject: hostile },
    evaluation: {
      score: 1,
      summary: hostile,
      strengths: [hostile],
      weaknesses: [hostile],
      recommendation: hostile,
    },
  });
  const text = await textOf(pdf);
  const found = text.split(withoutSpaces('#eval("1") #read("/etc/passwd") #import')).length - 1;
  t.true(found >= 9, `${found} times`);
  t.true(text.includes(withoutSpaces('@ref `raw` \\ ] } #panic()')));
});

test('control characters, lone surrogates and direction overrides are replaced, and stacked marks are limited', async (t) => {
  const text = await textOf(
    (
      await rendered(
        t,
        said(
          'a\0b\u0007c\u001B[31md',
          'e\uD800f\uDC00g',
          'h\u202Egpj.exe\u202Di',
          `j${'\u0301'.repeat(5_000)}k`,
          'l\uFFFFm\u{10FFFF}n',
        ),
      )
    ).pdf,
  );
  for (const each of ['a\uFFFDb\uFFFDc\uFFFD[31md', 'e\uFFFDf\uFFFDg', 'h\uFFFDgpj.exe\uFFFDi'])
    t.true(text.includes(each), each);
  t.true((text.match(/\u0301/gu) ?? []).length < 100); // the PDF reader repeats a letter with all its marks for each mark
});

test('a line of a megabyte is broken over lines and pages, whatever its characters', async (t) => {
  for (const unit of ['x', 'word ', '好', 'ب', '😀', '\n', '\u0301', '\u202E']) {
    const { pages, pdf } = await rendered(t, said(unit.repeat(Math.ceil(1_000_000 / unit.length))));
    t.true(pages <= 500, `${JSON.stringify(unit)}: ${pages} pages`);
    t.true(pdf.length <= 50_000_000);
  }
  const { pdf } = await rendered(t, said('ж'.repeat(1_000)));
  t.is(((await textOf(pdf)).match(/ж/gu) ?? []).length, 1_000, 'and none of it runs out of the page');
  const lines = (await pagesOf(pdf)).join('\n').match(/ж+/gu) ?? [];
  t.true(lines.length > 10 && lines.every(({ length }) => length < 120));
});

test('a study kit of a too long session has the first and last messages and states how many are missing', async (t) => {
  const messages = conversation(20_000);
  const { pdf, pages } = await rendered(t, contentOf(messages));
  t.true(pages < 600, `${pages} pages`);
  const text = await textOf(pdf);
  t.true(text.includes('10000messagesareleftouthere'));
  for (const number of [1, 5_000, 15_001, 20_000]) t.true(text.includes(`#${number}·`), `${number}`);
  for (const number of [5_001, 15_000]) t.false(text.includes(`#${number}·`), `${number}`);
});
