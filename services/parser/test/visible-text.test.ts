import test from 'ava';
import { readXml } from '../src/office-xml.ts';
import { type TextCount, textCounter } from '../src/visible-text.ts';

async function* chunksOf(xml: string) {
  yield Buffer.from(xml);
}

/** Counts a part's visible text while the part is read by a reader that ignores all content. */
async function counted(content: string): Promise<TextCount> {
  const counter = textCounter();
  await readXml({ chunks: chunksOf(`<w:body>${content}</w:body>`), counter }, {});
  return counter.count;
}

const run = (text: string, properties = '') => `<w:r><w:rPr>${properties}</w:rPr><w:t>${text}</w:t></w:r>`;
const p = (...content: string[]) => `<w:p>${content.join('')}</w:p>`;
const part = (type: string) => `<w:r><w:fldChar w:fldCharType="${type}"/></w:r>`;
const code = '<w:r><w:instrText> PAGE </w:instrText></w:r>';

test('all visible texts of a part are counted, whatever its reader reads', async (t) => {
  const shown: Record<string, [content: string, characters: number]> = {
    'runs and equations': [p(run('one two'), '<m:oMath><m:r><m:t>a=b</m:t></m:r></m:oMath>'), 9],
    drawings: ['<w:drawing><a:p><a:r><a:t>box</a:t></a:r></a:p></w:drawing>', 3],
    'one of two copies': [
      `<mc:AlternateContent><mc:Choice>${p(run('box'))}</mc:Choice><mc:Fallback>${p(run('box'))}</mc:Fallback></mc:AlternateContent>`,
      3,
    ],
    'the copy that has text': [
      `<mc:AlternateContent><mc:Choice/><mc:Fallback>${p(run('box'))}</mc:Fallback></mc:AlternateContent>`,
      3,
    ],
    'the result of a field': [
      p(part('begin'), code, run('code'), part('separate'), run('7'), part('end'), run('b')),
      2,
    ],
    'a field without an end': [p(part('begin'), code) + p(run('rest')), 4],
    'a field whose end was deleted': [p(part('begin'), code, `<w:del>${part('end')}</w:del>`, run('rest')), 4],
    'what a field without an end would hide': [p(part('begin'), code, run('same')) + p(run('rest')), 8],
    'nothing that was deleted, moved away or hidden': [
      p(
        `<w:del>${run('a')}</w:del>`,
        `<w:moveFrom>${run('b')}</w:moveFrom>`,
        run('c', '<w:vanish/>'),
        run('d', '<w:vanish w:val="0"/>'),
      ),
      1,
    ],
    'no readings above ideographs': [
      p(
        '<w:r><w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase></w:ruby></w:r>',
      ),
      1,
    ],
  };
  for (const [name, [content, characters]] of Object.entries(shown))
    t.is((await counted(content)).characters, characters, name);
});

test('notes are counted separately, with the references to them', async (t) => {
  const { notes } = await counted(
    `<w:footnote w:id="1">${p(run('one'))}</w:footnote><w:footnote w:id="2">${p(run('three'))}</w:footnote>`,
  );
  t.deepEqual(
    [...notes],
    [
      ['footnote 1', 3],
      ['footnote 2', 5],
    ],
  );
  const { references } = await counted(
    p('<w:r><w:footnoteReference w:id="2"/></w:r>', '<w:del><w:r><w:footnoteReference w:id="1"/></w:r></w:del>'),
  );
  t.deepEqual([...references], ['footnote 2']);
});
