import { text } from '@parley/kernel/input';
import { parseJson } from '@parley/kernel/json';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { KeyValue } from '@parley/live/key-value/key-value';
import type { UnitHttp } from '@parley/unit/unit-http';
import { z } from 'zod';
import type { AvatarModelDto } from '../generated/schema.ts';

export interface AvatarModels {
  /** The models that voice has now; while it is away, those that it last had. Never rejects for voice's sake. */
  list(): Promise<AvatarModelDto[]>;
}

export interface AvatarModelsOptions {
  voice: UnitHttp;
  keyValue: Pick<KeyValue, 'get' | 'set'>;
  /** How long an answer of voice is used, and how long voice is left alone after a failure. */
  keptMs: number;
  log: Logger;
  now?: () => number;
}

/** The last list that any replica has read, which one that has just started answers while voice is away. */
const lastKey = 'parley:agent:avatar-models';
const lastTtlMs = 30 * 24 * 60 * 60_000;
const maxModels = 1_000;

const models = z
  .array(
    z.object({
      id: text(100),
      label: text(200),
      gender: text(50),
      /** Its last part is the file's name. */
      path: z
        .string()
        .max(500)
        .regex(/^(?:[\w.-]+\/)*[\w.-]+\.glb$/u, 'must be a relative path of a .glb'),
    }),
  )
  .max(maxModels);
const answer = z.object({ models });
const lastList = z.array(z.object({ id: z.string(), filename: z.string(), label: z.string(), gender: z.string() }));

/** The catalogue of the voice service. Calls at the same time share one request. */
export function avatarModels({ voice, keyValue, keptMs, log, now = Date.now }: AvatarModelsOptions): AvatarModels {
  let known: AvatarModelDto[] | undefined;
  let isAway = false;
  let readAgainAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<AvatarModelDto[]> | undefined;

  async function read(): Promise<AvatarModelDto[]> {
    try {
      // Not the signal of one who asks: others may wait for the same answer.
      const { status, body } = await voice('/avatars/models', { signal: new AbortController().signal });
      if (status !== 200) throw new Error(`status ${status}`);
      known = answer.parse(parseJson(body.toString())).models.map(toDto);
      isAway = false;
      await keyValue.set(lastKey, JSON.stringify(known), { ttlMs: lastTtlMs }).catch(() => undefined);
    } catch (err) {
      isAway = true;
      known ??= await lastKnown();
      log.warn({ err, models: known?.length ?? 0 }, 'voice did not answer its avatar models; the last known are used');
    }
    readAgainAt = now() + keptMs;
    return known ?? [];
  }

  async function lastKnown(): Promise<AvatarModelDto[] | undefined> {
    const kept = await keyValue.get(lastKey).catch(() => undefined);
    return kept === undefined ? undefined : lastList.safeParse(parseJson(kept)).data;
  }

  return {
    async list() {
      if (now() < readAgainAt) return known ?? [];
      reading ??= read().finally(() => {
        reading = undefined;
      });
      // Nobody waits for a voice that was away; whoever asks next sees whether it is back.
      return isAway && known ? known : reading;
    },
  };
}

function toDto({ id, label, gender, path }: z.output<typeof models>[number]): AvatarModelDto {
  return { id, filename: path.slice(path.lastIndexOf('/') + 1), label, gender };
}
