import { globSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@parley/stories/client';
import {
  confirmDocument,
  createKnowledgeBase,
  type OfferedUpload,
  putUpload,
  requestUpload,
  uploadedFile,
} from '@parley/stories/knowledge';
import { type Figure, figure, oneByOne } from '../figures.ts';
import { codeOf, type Flood, type Scene } from './flood.ts';

const mb = 2 ** 20;
/** The storage limit of the plan DEV. */
const quotaMb = 100;

interface Stored {
  unconfirmedMb: number;
  /** Total size of the stored files after all uploads were confirmed. */
  storedMb: number;
  /** Number of uploads by outcome. */
  answers: Map<string, number>;
}

/** Uploads files of 20 MB for two tenants: one declares a size of one byte for each file, the other declares the real size. */
export const largerUploads: Flood = {
  name: 'larger uploads',
  probes: ['query'],
  run,
};

async function run({ short, say, mesh }: Scene): Promise<Figure[]> {
  const [uploads, sizeMb] = short ? [2, 1] : [12, 20];
  const file = Buffer.alloc(sizeMb * mb, 'a line of text\n');
  const folder = dirname(mesh.temporary);
  /**
   * Returns the total size of the stored files. Finds the files by their size, because their names and sizes differ between stores: the
   * one-process file store hashes the names and adds a header to each file; S3 uses the keys as names.
   */
  const stored = () =>
    globSync('**/{objects,uploads}/**', { cwd: folder, withFileTypes: true }).filter(
      (entry) => entry.isFile() && sizeOf(join(entry.parentPath, entry.name)) >= file.length,
    ).length * sizeMb;

  async function flood(declaredSizeBytes: number): Promise<Stored> {
    const before = stored();
    const owner = new Client(mesh.urls[0] ?? '');
    await owner.register();
    const base = await createKnowledgeBase(owner);
    const answers = new Map<string, number>();
    const answered = (outcome: string): undefined => {
      answers.set(outcome, (answers.get(outcome) ?? 0) + 1);
    };
    // Requests all uploads before the first one is confirmed. Each request has its own client address, because uploads are throttled by
    // address.
    const offered = await oneByOne(uploads, () =>
      requestUpload(owner.at(owner.url), base, undefined, declaredSizeBytes).catch((error: unknown) =>
        answered(`${codeOf(error)} to its request`),
      ),
    );
    const put = offered.filter((offer) => offer !== undefined);
    await oneByOne(put.length, (n) => putUpload(put[n] as OfferedUpload, file));
    const unconfirmedMb = stored() - before;
    await oneByOne(put.length, async (n) => {
      const { objectStorageKey } = put[n] as OfferedUpload;
      const input = { ...uploadedFile(base), objectStorageKey };
      const confirmed = owner.at(owner.url).value(confirmDocument, { input });
      answered(
        await confirmed.then(
          () => 'a document',
          (error: unknown) => `${codeOf(error)} to its confirm`,
        ),
      );
    });
    await delay(short ? 500 : 10_000); // after this, a job has removed the refused files
    return { unconfirmedMb, storedMb: stored() - before, answers };
  }

  say(`${uploads} files of ${sizeMb} MB, declared as a byte`);
  const undeclared = await flood(1);
  say('and as they are');
  const declared = await flood(file.length);
  const figures = (what: string, { unconfirmedMb, storedMb, answers }: Stored) => [
    ...[...answers].map(([outcome, count]) => figure(`${what}: answered with ${outcome}`, count, 'in all')),
    figure(`${what}: stored before their confirm`, unconfirmedMb, 'MB'),
    figure(`${what}: stored`, storedMb, 'MB', { goal: quotaMb }),
  ];
  return [
    ...figures(`${uploads} files of ${sizeMb} MB declared as 1 byte`, undeclared),
    ...figures(`${uploads} files of ${sizeMb} MB declared as such`, declared),
  ];
}

/** Returns the size of a file; 0 if it has been removed. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
