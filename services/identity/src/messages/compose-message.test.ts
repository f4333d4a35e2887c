import test from 'ava';
import { composeMessage } from './compose-message.ts';

const draft = { subject: 'your code', paragraphs: ['Your code to sign in:', 'It expires in 10 minutes.'] };

test('a message names product and subject, and its code follows the first paragraph', (t) => {
  const { subject, text, html } = composeMessage({ ...draft, code: '123456' });
  t.is(subject, 'Parley: your code');
  t.is(text, 'Parley: Your code to sign in:\n\n123456\n\nIt expires in 10 minutes.\n');
  t.regex(html, /to sign in:<\/p>\s*<p style="[^"]*">123456<\/p>\s*<p style="[^"]*">It expires/u);
  t.regex(html, /^<!doctype html>\n<html lang="en">/u);
});

test('a code that is too long for large type can wrap', (t) => {
  const { html } = composeMessage({ ...draft, code: `pst_${'A'.repeat(43)}` });
  t.regex(html, /<p style="[^"]*word-break:break-all">pst_A{43}<\/p>/u);
  t.false(html.includes('letter-spacing'));
});

test('a link is a button in HTML, and its URL is in both parts', (t) => {
  const link = { label: 'Set a new password', url: 'https://parley.example/reset?token=a&b="c' };
  const { text, html } = composeMessage({ ...draft, link });
  t.true(text.includes(`\n\n${link.url}\n\n`));
  t.true(html.includes('href="https://parley.example/reset?token=a&#38;b=&#34;c"'));
  t.false(html.includes('b="c'));
});

test('text chosen by a user cannot add HTML', (t) => {
  const { html } = composeMessage({ subject: '</title><b>', paragraphs: ['Hello <script>alert("x")</script> & co,'] });
  t.false(/<script|<b>|"x"/u.test(html));
  t.true(html.includes('Hello &#60;script&#62;alert(&#34;x&#34;)&#60;/script&#62; &#38; co,'));
});
