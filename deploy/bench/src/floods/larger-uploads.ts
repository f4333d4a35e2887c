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
/** What a tenant of the plan DEV may store. */
const quotaMb = 100;

interface Stored {
  unconfirmedMb: number;
  /** After the confirms. */
  storedMb: number;
  /** How many files had which answer. */
  answers: Map<string, number>;
}

/** Files of 20 MB: a tenant declares a byte for each, and another one what they have. */
export const largerUploads: Flood = {
  name: 'larger uploads',
  probes: ['query'],
  run,
};

async function run({ short, say, mesh }: Scene): Promise<Figure[]> {
  const [uploads, sizeMb] = short ? [2, 1] : [12, 20];
  const file = Buffer.alloc(sizeMb * mb, 'a line of text\n');
  const folder = dirname(mesh.temporary);
  /** The file store of one process has hashes for names and a head in each file; S3 has the keys. */
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
    // All are requested before the first is confirmed. Each comes from an address of its own, which may upload some files a minute.
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
    await delay(short ? 500 : 10_000); // what was refused is removed by a job
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

/** 0 where it was removed meanwhile. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
