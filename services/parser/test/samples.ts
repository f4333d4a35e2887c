import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import exceljs from 'exceljs';
import { headingOf, listItem, makeDocx, makePdf, paragraph, tableOf } from './make-documents.ts';

/** Large realistic documents for the benchmark. */

const words = 'A refund is paid within thirty days after the goods have come back to the store in good order'.split(
  ' ',
);
const sentence = (n: number) => words.map((_, index) => words[(index * (n + 1)) % words.length]).join(' ');

export function samplePdf(pages: number): Buffer {
  return makePdf(
    Array.from({ length: pages }, (_, page) => [
      { text: `Chapter ${page + 1}`, size: 18 },
      ...Array.from({ length: 40 }, (_, line) => ({ text: sentence(page + line).slice(0, 85) })),
    ]),
  );
}

export function sampleDocx(paragraphs: number): Buffer {
  const blocks = Array.from({ length: paragraphs }, (_, n) => {
    if (n % 20 === 0) return headingOf(1 + (n % 3), `Heading ${n}`);
    if (n % 20 < 5) return listItem(sentence(n), { list: 1 + (n % 2) });
    if (n % 100 === 99)
      return tableOf([
        ['Key', 'Value'],
        ['a', sentence(n)],
      ]);
    return paragraph(sentence(n));
  });
  return makeDocx(blocks.join(''));
}

export async function sampleXlsx(rows: number): Promise<Buffer> {
  const stream = new PassThrough();
  const written = buffer(stream);
  const book = new exceljs.stream.xlsx.WorkbookWriter({ stream, useSharedStrings: true, useStyles: true });
  const sheet = book.addWorksheet('Orders');
  for (let n = 0; n < rows; n += 1) {
    sheet
      .addRow([
        n,
        `customer ${n % 500}`,
        n * 1.5,
        new Date(1_700_000_000_000 + n * 86_400_000),
        sentence(n % 50),
        n % 2 === 0,
      ])
      .commit();
  }
  await book.commit();
  return written;
}

export function sampleCsv(rows: number): Buffer {
  const lines = Array.from(
    { length: rows },
    (_, n) => `${n},customer ${n % 500},${n * 1.5},2026-01-31,"${sentence(n % 50).slice(0, 40)}",yes`,
  );
  return Buffer.from(`id,name,amount,day,note,paid\n${lines.join('\n')}\n`);
}

export function sampleMarkdown(lines: number): Buffer {
  const text = (n: number) => (n % 20 === 0 ? `# Heading ${n}\n` : `- ${sentence(n % 50)}`);
  return Buffer.from(`${Array.from({ length: lines }, (_, n) => text(n)).join('\n')}\n`);
}
