import { Readable } from 'node:stream';
import { type DocumentReader, documentReader } from '@parley/parser/document-reader';
import type { FileToRead } from '@parley/parser/read-file';
import { sampleCsv, sampleDocx, sampleMarkdown, samplePdf, sampleXlsx } from '@parley/parser/samples';
import { parse } from 'csv-parse/sync';
import exceljs from 'exceljs';
import { convertToHtml } from 'mammoth';
import { extractText, getDocumentProxy } from 'unpdf';
import { bombFigures } from './bombs.ts';
import { type Figure, figure, median, medianOf, oneByOne, tookMs } from './figures.ts';
import type { BenchOptions } from './processes.ts';

/** The defaults of the settings that limit parsing. */
const limits = {
  timeoutMs: 60_000,
  maxMemoryMb: 512,
  maxCharacters: 5_000_000,
  maxInflatedBytes: 256 * 2 ** 20,
  maxPages: 5_000,
};

interface Case {
  name: string;
  /** The unit in which the file's size is given, e.g. pages. */
  counted: string;
  count: number;
  file: FileToRead;
  /** Reads the file with the library alone, in this process. Undefined for Markdown, because no library reads it. */
  bare?: () => Promise<unknown>;
}

/**
 * Measures how long it takes to parse documents in a separate process with limits, compared with the library alone. Also measures how long
 * it takes while malicious files are parsed.
 */
export async function parserFigures(options: BenchOptions): Promise<Figure[]> {
  const cases = await casesOf(options);
  const figures: Figure[] = [];
  for (const each of cases) {
    const reader = documentReader({ ...limits, maxProcesses: 1 });
    try {
      figures.push(...(await caseFigures(each, reader, options)));
    } finally {
      await reader.stop();
    }
  }
  return [...figures, ...(await bombFigures(options))];
}

async function caseFigures(
  each: Case,
  reader: DocumentReader,
  { rounds, short, say }: BenchOptions,
): Promise<Figure[]> {
  const { name, counted, count, file, bare } = each;
  say(`${name}, ${rounds} rounds`);
  const { signal } = new AbortController();
  const ours = () => reader.read(file, { tenantId: 1, signal });
  const firstMs = await tookMs(ours);
  for (let n = 0; n < (short ? 1 : 3); n += 1) {
    await bare?.();
    await ours();
  }
  const times = await oneByOne(rounds, async () => ({
    bareMs: bare ? await tookMs(bare) : undefined,
    oursMs: await tookMs(ours),
  }));
  const rate = (count * 1_000) / medianOf(times, ({ oursMs }) => oursMs);
  const ratios = times.flatMap(({ bareMs, oursMs }) => (bareMs === undefined ? [] : [bareMs / oursMs]));
  return [
    figure(`${name}, ${counted}`, rate, '/s'),
    ...(bare ? [figure(`${name}, rate beside the library alone`, median(ratios), '×', { atLeast: 0.9 })] : []),
    figure(`${name}, the first document of a process`, firstMs, 'ms'),
  ];
}

async function casesOf({ short }: BenchOptions): Promise<Case[]> {
  const many = (count: number) => (short ? Math.ceil(count / 100) : count);
  const pages = many(300);
  const rows = many(20_000);
  const paragraphs = many(20_000);
  const pdf = samplePdf(pages);
  const xlsx = await sampleXlsx(rows);
  const docx = sampleDocx(paragraphs);
  const csv = sampleCsv(many(40_000));
  const markdown = sampleMarkdown(many(40_000));
  return [
    {
      name: 'PDF',
      counted: 'pages',
      count: pages,
      file: { type: 'pdf', bytes: pdf },
      bare: async () => extractText(await getDocumentProxy(new Uint8Array(pdf)), { mergePages: false }),
    },
    {
      name: 'XLSX',
      counted: 'rows',
      count: rows,
      file: { type: 'xlsx', bytes: xlsx },
      bare: () => readRows(xlsx),
    },
    {
      name: 'DOCX',
      counted: 'paragraphs',
      count: paragraphs,
      file: { type: 'docx', bytes: docx },
      bare: () => convertToHtml({ buffer: docx }),
    },
    {
      name: 'CSV',
      counted: 'MB',
      count: csv.length / 2 ** 20,
      file: { type: 'csv', bytes: csv },
      bare: async () => parse(csv),
    },
    {
      name: 'Markdown',
      counted: 'MB',
      count: markdown.length / 2 ** 20,
      file: { type: 'markdown', bytes: markdown },
    },
  ];
}

async function readRows(bytes: Buffer): Promise<unknown[]> {
  const values: unknown[] = [];
  const options = { worksheets: 'emit', sharedStrings: 'cache', styles: 'cache', hyperlinks: 'ignore' } as const;
  for await (const sheet of new exceljs.stream.xlsx.WorkbookReader(Readable.from([bytes]), options)) {
    for await (const row of sheet) values.push(row.values);
  }
  return values;
}
