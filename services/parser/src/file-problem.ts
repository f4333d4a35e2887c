import type { ContentKind } from './content-kind.ts';
import type { FileType } from './file-types.ts';

export type Problem =
  | 'password'
  | 'noText'
  | 'blank'
  | 'unknownSigns'
  | 'empty'
  | 'damaged'
  | 'mislabelled'
  | 'unclosedQuote'
  | 'invalidArchive'
  | 'forbiddenXml'
  | 'tooLargeUnpacked'
  | 'tooManyEntries'
  | 'tooManyPages'
  | 'tooDeep'
  | 'tooLong'
  | 'tooMuchMemory'
  | 'tooSlow'
  | 'tooLarge'
  | 'replaced'
  | 'gone';

/** A problem of a file that is read. The error does not quote the file's content. */
export class FileProblem extends Error {
  override name = 'FileProblem';
  readonly problem: Problem;
  /** For `mislabelled`: the actual type of the content. */
  readonly found: ContentKind | undefined;

  constructor(problem: Problem, { found, cause }: { found?: ContentKind; cause?: unknown } = {}) {
    super(problem, { cause });
    this.problem = problem;
    this.found = found;
  }
}

export interface ReadLimits {
  /** Limit of processor time, in ms. */
  timeoutMs: number;
  maxMemoryMb: number;
  maxCharacters: number;
  maxInflatedBytes: number;
  maxPages: number;
}

/** The largest file that may be uploaded, in bytes. */
export const maxFileBytes = 20 * 2 ** 20;

export function reasonOf({ problem, found }: FileProblem, type: FileType, limits: ReadLimits): string {
  const reasons: Record<Problem, string> = {
    password: 'The file is protected by a password. Remove the password and upload it again.',
    noText: 'The file has pages but no text: it looks like a scan. Upload a version with recognised text (OCR).',
    blank: 'The pages of the file have no text: they are blank, or all on them is drawn. Upload a version with text.',
    unknownSigns:
      'The text of the file cannot be read: its fonts do not say which characters it shows. Upload a version with recognised text (OCR).',
    empty: 'The file is empty: it has no text.',
    damaged: `The file is damaged or incomplete: it cannot be read as ${typeNames[type]}.`,
    mislabelled: `The file was uploaded as ${typeNames[type]}, but its content is ${contentNames[found ?? 'binary']}.`,
    unclosedQuote: 'The CSV file is damaged: a quoted field is never closed.',
    invalidArchive: 'The file is damaged: parts of its archive overlap or are not as large as it states.',
    forbiddenXml: 'The file defines XML entities, which no office document may do.',
    tooLargeUnpacked: `The file is larger than ${megabytes(limits.maxInflatedBytes)} MB when it is unpacked.`,
    tooManyEntries: 'The file has too many parts in its archive.',
    tooManyPages: `The file has more than ${count(limits.maxPages)} pages.`,
    tooDeep: 'The content of the file is nested too deeply.',
    tooLong: `The text of the file is longer than ${count(limits.maxCharacters)} characters.`,
    tooMuchMemory: `Reading the file takes more than ${count(limits.maxMemoryMb)} MB of memory.`,
    tooSlow: `Reading the file takes longer than ${count(limits.timeoutMs / 1_000)} seconds.`,
    tooLarge: `The file is larger than ${megabytes(maxFileBytes)} MB.`,
    replaced: 'The file was replaced after its upload was confirmed. Upload it again.',
    gone: 'The uploaded file is not there any more. Upload it again.',
  };
  return reasons[problem];
}

/** Shown to the tenant for a file that crashed every process that read it. */
export const endedItsReaders = 'The file could not be read: each attempt to read it ended unexpectedly.';

const typeNames: Record<FileType, string> = {
  pdf: 'a PDF document',
  docx: 'a Word document (.docx)',
  xlsx: 'an Excel workbook (.xlsx)',
  csv: 'CSV text',
  markdown: 'Markdown text',
};

const contentNames: Record<ContentKind, string> = {
  ...typeNames,
  pptx: 'a PowerPoint presentation',
  zip: 'a ZIP archive',
  oldOffice: 'a document of an old Office format (such as .doc or .xls)',
  image: 'an image',
  text: 'plain text',
  binary: 'something else',
};

const count = (value: number) => value.toLocaleString('en-US');
const megabytes = (bytes: number) => count(Math.round((bytes / 2 ** 20) * 10) / 10);
