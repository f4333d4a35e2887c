import { text } from '@parley/kernel/input';
import { parseJson } from '@parley/kernel/json';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { KeyValue } from '@parley/live/key-value/key-value';
import type { UnitHttp } from '@parley/unit/unit-http';
import { z } from 'zod';
import type { AvatarModelDto } from '../generated/schema.ts';

export interface AvatarModels {
  /**
   * Returns the models that the voice service offers now, or the last known ones while the service is unavailable. Does not reject if the
   * service fails.
   */
  list(): Promise<AvatarModelDto[]>;
}

export interface AvatarModelsOptions {
  voice: UnitHttp;
  keyValue: Pick<KeyValue, 'get' | 'set'>;
  /** How long a response of the voice service is cached, in ms. After a failure, no request is sent for this time either. */
  keptMs: number;
  log: Logger;
  now?: () => number;
}

/** Stores the last list that any replica has read. A replica that starts while voice is unavailable can serve this list. */
const lastKey = 'parley:agent:avatar-models';
const lastTtlMs = 30 * 24 * 60 * 60_000;
const maxModels = 1_000;

const models = z
  .array(
    z.object({
      id: text(100),
      label: text(200),
      gender: text(50),
      /** Path of the model's file, relative to the address of the voice service. The last segment is the file's name. */
      path: z
        .string()
        .max(500)
        .regex(/^(?:[\w.-]+\/)*[\w.-]+\.glb$/u, 'must be a relative path of a .glb'),
    }),
  )
  .max(maxModels);
const answer = z.object({ models });
const lastList = z.array(z.object({ id: z.string(), filename: z.string(), label: z.string(), gender: z.string() }));

/** Creates the list of models that the voice service offers. Concurrent calls share one request. */
export function avatarModels({ voice, keyValue, keptMs, log, now = Date.now }: AvatarModelsOptions): AvatarModels {
  let known: AvatarModelDto[] | undefined;
  let isAway = false;
  let readAgainAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<AvatarModelDto[]> | undefined;

  async function read(): Promise<AvatarModelDto[]> {
    try {
      // The request does not use a caller's signal: if one caller leaves, other callers still wait for the request.
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
      // After a failure, callers do not wait for the voice service: they get the last known list, and the next call
      // sees whether the service has recovered.
      return isAway && known ? known : reading;
    },
  };
}

function toDto({ id, label, gender, path }: z.output<typeof models>[number]): AvatarModelDto {
  return { id, filename: path.slice(path.lastIndexOf('/') + 1), label, gender };
}
