import { readFileSync } from 'node:fs';
import test from 'ava';
import { pageKinds } from '../../test/page-kinds.ts';
import { htmlText } from './html-text.ts';

for (const { kind, html, wanted, unwanted } of pageKinds) {
  test(`${kind}: the content stays, and the text around it is omitted`, (t) => {
    const { text } = htmlText(html);
    for (const each of wanted) t.true(text.includes(each), `${each} in ${text}`);
    for (const each of unwanted) t.false(text.includes(each), `${each} in ${text}`);
  });
}

test('the page of a case has its heading, its definition and its code', (t) => {
  const html = readFileSync(new URL('../../test/cases/shop.html', import.meta.url), 'utf8');
  t.is(htmlText(html).text, '# Desks\n\nWarranty: five years\n\n```\nnpm run greet\n# not a heading\n```');
});
