import type { Wording } from './message.ts';

export interface Draft {
  subject: string;
  paragraphs: string[];
  code?: string | undefined;
  link?: { label: string; url: string } | undefined;
}

const product = 'Parley';

/**
 * Formats a draft as plain text, which is also the content of text messages, and as HTML. The code or link follows the first
 * paragraph.
 */
export function composeMessage({ subject, paragraphs, code, link }: Draft): Wording {
  const [first = '', ...others] = paragraphs;
  const action = code ?? link?.url;
  const text = [first, ...(action === undefined ? [] : [action]), ...others].join('\n\n');
  const blocks = [
    paragraph(first),
    ...(code === undefined ? [] : [`<p style="${code.length > 12 ? tokenStyle : codeStyle}">${escaped(code)}</p>`]),
    ...(link === undefined ? [] : [button(link)]),
    ...others.map(paragraph),
  ];
  return { subject: `${product}: ${subject}`, text: `${product}: ${text}\n`, html: page(subject, blocks) };
}

const codeStyle = 'font-size:32px;font-weight:bold;letter-spacing:6px;margin:24px 0';
const tokenStyle = 'font:16px monospace;margin:24px 0;word-break:break-all';
const buttonStyle =
  'background:#1f4fd8;border-radius:6px;color:#ffffff;display:inline-block;padding:12px 20px;text-decoration:none';

function paragraph(said: string): string {
  return `<p style="margin:0 0 16px">${escaped(said)}</p>`;
}

function button({ label, url }: { label: string; url: string }): string {
  const target = escaped(url);
  return `<p style="margin:24px 0"><a href="${target}" style="${buttonStyle}">${escaped(label)}</a></p>
<p style="font-size:13px;word-break:break-all">${target}</p>`;
}

function page(title: string, blocks: string[]): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escaped(title)}</title></head>
<body style="color:#1b1f24;font:16px/1.5 sans-serif;margin:0;padding:24px">
<div style="margin:0 auto;max-width:560px">
<p style="font-size:20px;font-weight:bold;margin:0 0 24px">${product}</p>
${blocks.join('\n')}
</div>
</body>
</html>
`;
}

function escaped(said: string): string {
  return said.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
