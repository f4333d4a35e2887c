import { z } from 'zod';
import { type Environment, httpUrl, readSettings, requireInProduction } from '../config.ts';
import type { S3Options } from './s3-object-store.ts';

/**
 * The bucket that `S3_ENDPOINT` and its companions name; undefined where there is none.
 * @throws SettingsError naming all that is missing or wrong. In production there must be one: nothing is replaced by a
 *   smaller engine unasked.
 */
export function readS3Settings(env: Environment): S3Options | undefined {
  if (!env.S3_ENDPOINT) {
    requireInProduction(env, ['S3_ENDPOINT']);
    return undefined;
  }
  const settings = readSettings(env, {
    S3_ENDPOINT: httpUrl,
    S3_PUBLIC_ENDPOINT: httpUrl.optional(),
    S3_REGION: z.string().default('us-east-1'),
    S3_BUCKET: z.string(),
    S3_ACCESS_KEY_ID: z.string(),
    S3_SECRET_ACCESS_KEY: z.string(),
  });
  return {
    endpoint: settings.S3_ENDPOINT,
    publicEndpoint: settings.S3_PUBLIC_ENDPOINT,
    region: settings.S3_REGION,
    bucket: settings.S3_BUCKET,
    accessKeyId: settings.S3_ACCESS_KEY_ID,
    secretAccessKey: settings.S3_SECRET_ACCESS_KEY,
  };
}
