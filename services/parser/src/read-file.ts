import { FileProblem, type ReadLimits } from './file-problem.ts';
import type { FileType } from './file-types.ts';
import type { ReadText } from './markdown.ts';
import { withWarnings } from './warnings.ts';

export interface FileToRead {
  type: FileType;
  bytes: Uint8Array;
}

type Read = (bytes: Buffer, limits: ReadLimits) => ReadText | Promise<ReadText>;

const readersOnDemand: Record<FileType, () => Promise<Read>> = {
  pdf: async () => (await import('./read-pdf.ts')).readPdf,
  docx: async () => (await import('./read-docx.ts')).readDocx,
  xlsx: async () => (await import('./read-xlsx.ts')).readXlsx,
  csv: async () => (await import('./read-csv.ts')).readCsv,
  markdown: async () => (await import('./read-markdown.ts')).readMarkdown,
};

/**
 * Reads a file's text and appends a line for each loss.
 * @throws FileProblem if the file cannot be read; an error of the file type's library becomes its cause
 */
export async function readFile({ type, bytes }: FileToRead, limits: ReadLimits): Promise<ReadText> {
  const read = await readersOnDemand[type]();
  try {
    const text = await read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), limits);
    return withWarnings(text, limits.maxCharacters);
  } catch (error) {
    throw error instanceof FileProblem ? error : new FileProblem(problemOf(error), { cause: error });
  }
}

function problemOf(error: unknown) {
  if (!(error instanceof RangeError)) return 'damaged';
  if (error.message === 'Maximum call stack size exceeded') return 'tooDeep';
  return /allocation failed|Invalid (?:string|array|typed array) length/u.test(error.message)
    ? 'tooMuchMemory'
    : 'damaged';
}
