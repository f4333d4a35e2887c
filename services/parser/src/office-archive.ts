import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { type Entry, fromBuffer, type ZipFile } from 'yauzl';
import { archiveKindOf, contentKindOf, isEncryptedOffice } from './content-kind.ts';
import { FileProblem, type ReadLimits } from './file-problem.ts';
import type { FileType } from './file-types.ts';
import type { Part } from './office-xml.ts';

const maxEntries = 10_000;

const localHeaderBytes = 30;

export type OfficeArchive = Awaited<ReturnType<typeof openOfficeArchive>>;

/**
 * Opens an archive. Its parts are unpacked within limits.
 * @throws FileProblem if the bytes are no valid archive of this type, or would exceed the limits; no part is unpacked then
 */
export async function openOfficeArchive(
  bytes: Buffer,
  type: 'docx' | 'xlsx',
  { maxInflatedBytes }: Pick<ReadLimits, 'maxInflatedBytes'>,
) {
  checkKind(bytes, type);
  const zip = await promisify(fromBuffer as never as OpenZip)(bytes, { lazyEntries: true }).catch(damaged);
  const entries = await readEntries(zip);
  checkEntries(entries, bytes.length, maxInflatedBytes);
  const names = entries.map(({ fileName }) => fileName);
  const byName = new Map(entries.map((entry) => [nameKey(entry), entry]));
  const kind = archiveKindOf(new Set(names));
  if (kind !== type) throw new FileProblem('mislabelled', { found: kind });
  const openStream = promisify(zip.openReadStream.bind(zip) as OpenStream);
  let inflated = 0;

  async function* chunksOf(entry: Entry): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of (await openStream(entry)) as AsyncIterable<Buffer>) {
        inflated += chunk.length;
        if (inflated > maxInflatedBytes) throw new FileProblem('tooLargeUnpacked');
        yield chunk;
      }
    } catch (error) {
      if (error instanceof FileProblem) throw error;
      const problem = isSizeError(error) ? 'invalidArchive' : 'damaged';
      throw new FileProblem(problem, { cause: error });
    }
  }

  return {
    names,
    has: (name: string) => byName.has(nameKey({ fileName: name })),
    part(name: string): Part {
      const entry = byName.get(nameKey({ fileName: name }));
      if (!entry) throw new FileProblem('damaged');
      return { chunks: chunksOf(entry) };
    },
    async read(name: string): Promise<Buffer> {
      return buffer(this.part(name).chunks);
    },
  };
}

type OpenZip = (bytes: Buffer, options: object, callback: (error: Error | null, zip: ZipFile) => void) => void;
type OpenStream = (entry: Entry, callback: (error: Error | null, stream: NodeJS.ReadableStream) => void) => void;

function checkKind(bytes: Buffer, type: FileType): void {
  if (bytes.length === 0) throw new FileProblem('empty');
  const kind = contentKindOf(bytes, type);
  if (kind === 'oldOffice' && isEncryptedOffice(bytes)) throw new FileProblem('password');
  if (kind !== 'zip') throw new FileProblem('mislabelled', { found: kind });
}

function readEntries(zip: ZipFile): Promise<Entry[]> {
  if (zip.entryCount > maxEntries) throw new FileProblem('tooManyEntries');
  const { promise, resolve, reject } = Promise.withResolvers<Entry[]>();
  const entries: Entry[] = [];
  zip.on('entry', (entry: Entry) => {
    entries.push(entry);
    zip.readEntry();
  });
  zip.on('end', () => resolve(entries));
  zip.on('error', reject);
  zip.readEntry();
  return promise.catch(damaged);
}

function checkEntries(entries: Entry[], archiveBytes: number, maxInflatedBytes: number): void {
  if (entries.some(({ generalPurposeBitFlag }) => generalPurposeBitFlag & 1)) throw new FileProblem('password');
  let declared = 0;
  for (const { uncompressedSize } of entries) declared += uncompressedSize;
  if (declared > maxInflatedBytes) throw new FileProblem('tooLargeUnpacked');
  let end = 0;
  for (const entry of entries.toSorted((a, b) => a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader)) {
    if (entry.relativeOffsetOfLocalHeader < end) throw new FileProblem('invalidArchive');
    end = entry.relativeOffsetOfLocalHeader + localHeaderBytes + entry.fileNameLength + entry.compressedSize;
  }
  if (end > archiveBytes) throw new FileProblem('invalidArchive');
  const names = new Set(entries.map(nameKey));
  if (names.size < entries.length) throw new FileProblem('invalidArchive');
}

/** Returns a key for a part's name, because part names in a package are case-insensitive. */
function nameKey({ fileName }: Pick<Entry, 'fileName'>): string {
  return fileName.toLowerCase();
}

/** Detects a size error by its message, because the errors of yauzl have no codes. */
function isSizeError(error: unknown): boolean {
  return error instanceof Error && /(?:too many|not enough) bytes in the stream/u.test(error.message);
}

function damaged(cause: unknown): never {
  throw new FileProblem('damaged', { cause });
}
