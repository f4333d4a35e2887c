import test from 'ava';
import { htmlText } from './html-text.ts';

const textOf = (html: string) => htmlText(html).text;

test('headings are Markdown, and paragraphs and lists are lines', (t) => {
  const html = `<html><head><title> Returns &amp;\n <b>refunds</b> </title><meta name="a" content="b"></head><body>
    <h1>Returns</h1><p>Within <b>30</b> days.<br>No later.</p><h2>How <i>to</i></h2>
    <ul><li>Pack it</li><li>Send it<ul><li>by post</li></ul></li></ul><ol><li>one</li><li>two</li></ol><h3></h3>
    <a href="https://example.com/a?b=c">Ask us</a> <img src="x.png" alt="logo"></body></html>`;
  t.deepEqual(htmlText(html), {
    title: 'Returns & <b>refunds</b>',
    text: [
      '# Returns',
      'Within 30 days.\nNo later.',
      '## How to',
      '- Pack it\n- Send it\n  - by post',
      ' 1. one\n 2. two',
      'Ask us',
    ].join('\n\n'),
  });
});

test('a table is lines with pipes, its first row set apart as the header', (t) => {
  const html = `<table><caption>Fees</caption><thead><tr><th>What</th><th>Fee</th></tr></thead>
    <tbody><tr><td>Return | exchange</td><td><p>3</p><p>USD</p></td></tr><tr><td colspan="2">All in</td></tr><tr></tr></tbody></table>`;
  t.is(textOf(html), '| What | Fee |\n| --- | --- |\n| Return \\| exchange | 3 USD |\n| All in |  |');
});

test('a table that arranges a page is its cells one after the other', (t) => {
  const data = '<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>';
  t.is(
    textOf(`<table><tr><td>Menu</td><td>${data}</td></tr><tr><td>x</td><td>y</td></tr></table>`),
    'Menu\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nx\ny',
  );
  t.is(textOf('<table><tr><td>one</td></tr><tr><td>two</td></tr></table>'), 'one\ntwo');
});

test('scripts, styles, navigation and what is hidden are left out', (t) => {
  const html = `<body><nav>Home</nav><script>alert('script')</script><style>a { b: c }</style><noscript>no</noscript>
    <div hidden>hidden</div><div aria-hidden="true">icon</div><div role="navigation">menu</div><template>t</template>
    <svg><title>drawing</title><text>t</text></svg><!-- comment --><iframe src="a">i</iframe><button>Buy</button>
    <main>The text</main><footer>Imprint</footer></body>`;
  t.deepEqual(htmlText(html), { title: undefined, text: 'The text' });
});

test('text without tags, without a body, and with tags that never end is read', (t) => {
  t.is(textOf('just text'), 'just text');
  t.is(textOf('<title>T</title><p>one<p>two'), 'one\n\ntwo');
  t.is(textOf('<p>a < b & c <unknown>d'), 'a < b & c d');
  t.is(textOf('<script>never ends'), '');
  t.is(textOf('a\u00a0&nbsp;b &#x1F99C; &bogus;'), 'a\u00a0\u00a0b 🦜 &bogus;');
});

test('what is nested too deeply is left out, rather than the page', (t) => {
  t.is(textOf(`<p>front</p>${'<div>'.repeat(5_000)}deep${'</div>'.repeat(5_000)}<p>end</p>`), 'front\n\nend');
});
