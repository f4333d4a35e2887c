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
    warnings: [],
  });
});

test('a table becomes lines with pipes, with its first row as the header', (t) => {
  const html = `<table><caption>Fees</caption><thead><tr><th>What</th><th>Fee</th></tr></thead>
    <tbody><tr><td>Return | exchange</td><td><p>3</p><p>USD</p></td></tr><tr><td colspan="2">All in</td></tr><tr></tr></tbody></table>`;
  t.is(textOf(html), 'Fees\n\n| What | Fee |\n| --- | --- |\n| Return \\| exchange | 3 USD |\n| All in |  |');
});

test('a layout table becomes its cells one after the other', (t) => {
  const data = '<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>';
  t.is(
    textOf(`<table><tr><td>Menu</td><td>${data}</td></tr><tr><td>x</td><td>y</td></tr></table>`),
    'Menu\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nx\ny',
  );
  t.is(textOf('<table><tr><td>one</td></tr><tr><td>two</td></tr></table>'), 'one\ntwo');
});

test('scripts, styles, navigation and hidden content are omitted', (t) => {
  const html = `<body><nav>Home</nav><script>alert('script')</script><style>a { b: c }</style><noscript>no</noscript>
    <div hidden>hidden</div><div aria-hidden="true">icon</div><div role="navigation">menu</div><template>t</template>
    <svg><title>drawing</title><text>t</text></svg><!-- comment --><iframe src="a">i</iframe><button>Buy</button>
    <main>The text</main><footer>Imprint</footer></body>`;
  t.deepEqual(htmlText(html), { title: undefined, text: 'The text', warnings: [] });
});

test('content hidden by a style or a rule is omitted, unless another rule or a button shows it', (t) => {
  const css = `/* .kept { display: none } */ @import url(a.css); .gone, #off { display: none } .menu .sub { display: none }
    .folded{display:none}.folded.open{display:block} @media print { .paper { display: none } } @media screen { .screen { visibility: hidden } }`;
  const html = `<style>${css}</style><p class="kept">kept</p><p class="a gone">gone</p><p id="off">off</p><p class="sub">sub</p><p class="folded">folded</p>
    <p class="paper">paper</p><p class="screen">screen</p><p style="color: red; display:none">styled</p><p style="visibility: hidden">unseen</p><p hidden="until-found">found</p>`;
  t.is(textOf(html), ['kept', 'sub', 'folded', 'paper', 'found'].join('\n\n'));
});

test('a page that is hidden until a script has run is read, and so is a page in a dialog', (t) => {
  const long = `<p>${'A sentence of this page. '.repeat(60)}</p>`;
  t.regex(textOf(`<div id="app" style="visibility: hidden">${long}</div><p>Loading</p>`), /^A sentence/u);
  t.regex(textOf(`<div role="dialog"><main>${long}</main></div>`), /^A sentence/u);
});

test('code keeps its lines, and its fence is longer than those in it', (t) => {
  t.is(textOf('<p>a</p><pre>\n\n  x = 1\n\n\n\n# y\n</pre><p>b</p>'), 'a\n\n```\n  x = 1\n\n\n\n# y\n```\n\nb');
  t.is(textOf('<pre>one<br>two <b>three</b></pre>'), '```\none\ntwo three\n```');
  t.is(textOf('<pre>````\n```</pre><pre> \n </pre>'), '`````\n````\n```\n`````');
});

test('each term and its definition become lines', (t) => {
  t.is(
    textOf('<dl><dt> Width </dt><dd>20 cm</dd><dt>Colours</dt><dd>red</dd><dd>blue</dd><dt>Alone</dt></dl>'),
    'Width: 20 cm\nColours: red\nblue\nAlone',
  );
  t.is(
    textOf('<dl><dt>Who pays?</dt><dd><p>We do.</p></dd><dd><p>One</p><p>Two</p></dd></dl>'),
    'Who pays? We do.\n\nOne\n\nTwo',
  );
  t.is(textOf('<dl><dd>only</dd></dl>'), 'only');
});

test('a cell with a row span is repeated in each of its rows', (t) => {
  const html = `<table><tr><th>Day</th><th>Open</th><th>Note</th></tr><tr><td>Mon</td><td rowspan="2">9 to 5</td><td>a</td></tr><tr><td>Tue</td><td>b</td></tr><tr><td rowspan="9">Sun</td><td colspan="2">closed</td></tr></table>`;
  t.is(
    textOf(html),
    '| Day | Open | Note |\n| --- | --- | --- |\n| Mon | 9 to 5 | a |\n| Tue | 9 to 5 | b |\n| Sun | closed |  |',
  );
});

test('hostile pages are read in linear time', (t) => {
  const many = 50_000;
  for (const html of [
    `<style>${'a{}'.repeat(many)}</style>x`,
    `<style>${'/*'.repeat(many)}</style>x`,
    `<style>${'@media x{'.repeat(many)}</style>x`,
    `<style>${Array.from({ length: many }, (_, n) => `.c.d${n}{display:none}`).join('')}</style>${'<i class="c d1">a</i>'.repeat(many / 10)}`,
    '<div class="menu">'.repeat(many),
    `<dl>${'<dt>a'.repeat(many)}</dl>`,
    `<pre>${'`'.repeat(many)}</pre>`,
    `<table>${'<tr><td rowspan=50>a'.repeat(many / 10)}</table>`,
    `<a aria-controls="${'a '.repeat(many)}">x</a>`,
  ]) {
    const from = performance.now();
    htmlText(html);
    t.true(performance.now() - from < 10_000, html.slice(0, 30));
  }
});

test('text without tags, without a body, and with tags that never end is read', (t) => {
  t.is(textOf('just text'), 'just text');
  t.is(textOf('<title>T</title><p>one<p>two'), 'one\n\ntwo');
  t.is(textOf('<p>a < b & c <unknown>d'), 'a < b & c d');
  t.is(textOf('<script>never ends'), '');
  t.is(textOf('a\u00a0&nbsp;b &#x1F99C; &bogus;'), 'a\u00a0\u00a0b 🦜 &bogus;');
});

test('content that is nested too deeply is read as plain text', (t) => {
  const nested = (depth: number, inner: string) => `${'<div>'.repeat(depth)}${inner}${'</div>'.repeat(depth)}`;
  const inner = 'deep<script>x()</script><nav>menu</nav><p>er<b>, and</b></p><p>down</p>';
  for (const depth of [400, 495, 500, 505, 520, 560, 5_000]) {
    const { text, warnings } = htmlText(`<p>front</p>${nested(depth, inner)}<p>end</p>`);
    t.is(text.replaceAll(/\s+/gu, ' '), 'front deep er, and down end', String(depth));
    t.deepEqual(warnings, []);
  }
  t.is(textOf(nested(600, '<i>a</i>'.repeat(200_000))).length, 200_000);
});

test('ruby annotations do not appear inside their words', (t) => {
  t.is(textOf('<p><ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>を学ぶ</p>'), '漢字を学ぶ');
});

for (const [what, html] of [
  ['a privacy notice', '<main><div class="privacy-notice"><h2>Tenants</h2><p>Kept text</p></div></main>'],
  ['consent to a surgery', '<div id="consent-form-info"><p>Kept text: risks are bleeding and infection.</p></div>'],
  ['a recipe of cookies', '<div class="cookie-notice"><p>Our cookies contain nuts. Kept text</p></div>'],
  ['trustees', '<div class="trustees"><p>Kept text</p></div>'],
  ['a menu of dishes', '<main><div class="menu"><ul><li><a href="/1">Kept text, 5 EUR</a></li></ul></div></main>'],
  [
    'terms that one accepts',
    `<article><div class="consent-box"><p>Kept text ${'of a clause. '.repeat(100)}</p><button>I accept</button></div></article>`,
  ],
  ['the footer of an article', '<article><p>One</p><footer>Kept text, <a href="/a">source</a></footer></article>'],
  ['the footer of a quotation', '<blockquote>One<footer>Kept text</footer></blockquote>'],
  ['a tooltip in the main part', '<main>One <span role="tooltip">Kept text</span></main>'],
] as const) {
  test(`content named like a cookie notice is read: ${what}`, (t) => t.regex(textOf(html), /Kept text/u));
}

for (const [what, html] of [
  ['by its answers', '<main><p>One</p><div class="cookie-banner">Gone <button>Accept all</button></div></main>'],
  ['by an input', '<div class="cookie-hint">Gone <input type="submit" value="Alle akzeptieren"></div><p>One</p>'],
  ['by its place', '<main><p>One</p><div id="consent" style="position: fixed">Gone</div></main>'],
  ['by its text', '<p>One</p><div class="cookie-bar">Gone: this site uses cookies.</div>'],
  ['by its product', '<p>One</p><div id="onetrust-consent-sdk">Gone</div>'],
] as const) {
  test(`a cookie notice is omitted, recognized ${what}`, (t) => t.is(textOf(html), 'One'));
}

test('a footer keeps contact data and opening hours', (t) => {
  const footerOf = (html: string) => textOf(`<main>One</main><footer>${html}</footer>`).replace(/^One\s*/u, '');
  t.is(footerOf('<p>Contact: 555-1234, Mon-Fri 9-17</p>'), 'Contact: 555-1234, Mon-Fri 9-17');
  const links = '<ul><li><a href="/a">About us</a></li><li><a href="/j">Jobs and careers</a></li></ul>';
  const many = `<div><h4>Shop</h4>${links.repeat(10)}</div>`;
  const reached =
    '<div><h4>Visit us</h4><p>Main Street 5<br>1010 Vienna</p><p>Daily 9 to 17</p><p>Tel. 01 234 567</p></div>';
  t.is(
    footerOf(`<div class="row">${many}${reached}${many}</div><p>© 2019 - 2024 Acme</p>`),
    '#### Visit us\n\nMain Street 5\n1010 Vienna\n\nDaily 9 to 17\n\nTel. 01 234 567',
  );
  for (const kept of [
    '<address>The old mill</address>',
    '<a href="tel:+431234">Call</a> us',
    'Öffnungszeiten: Mo–Fr 9–17 Uhr',
    'Hauptstraße 5, 10115 Berlin',
    '电话：010-12345678',
  ])
    t.not(footerOf(kept), '', kept);
  for (const gone of ['Imprint', '© 2019 - 2024 Acme, all rights reserved', 'Contact us © 2024', links])
    t.is(footerOf(gone), '', gone);
});

test('longer text that is omitted as a notice, a dialog or a footer is reported', (t) => {
  const words = 'Words of some weight. '.repeat(12);
  const reported = ['263 characters of notices, menus, dialogs and the footer of the page are left out'];
  for (const html of [
    `<p>One</p><footer>${words}</footer>`,
    `<main>One<div role="dialog">${words}</div></main>`,
    `<p>One</p><div class="privacy-box">${words}<a href="/">Accept</a></div>`,
  ]) {
    t.is(textOf(html), 'One');
    t.deepEqual(htmlText(html).warnings, reported, html.slice(0, 60));
  }
  for (const html of [
    '<p>One</p><footer>Imprint</footer>',
    `<p>One</p><div id="onetrust-banner-sdk">${words}</div>`,
    `<p>One</p><div hidden>${words}</div><nav>${words}</nav>`,
  ])
    t.deepEqual(htmlText(html), { title: undefined, text: 'One', warnings: [] });
});
