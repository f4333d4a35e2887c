import { PutBucketCorsCommand, S3Client } from '@aws-sdk/client-s3';
import { engines } from '@parley/servers/engines';
import { down, type FleetOptions, isServed, settingsOf, up } from '@parley/servers/fleet';
import { pagesOrigin } from './values.ts';

export interface EngineOptions {
  /** The folders of installed programs and of the engines' data. */
  folders: { tools: string; data: string };
  host: string;
  signal: AbortSignal;
  say(line: string): void;
}

const fleet = ({ folders, host, signal, say }: EngineOptions): FleetOptions => ({
  folders,
  host,
  signal,
  say,
  // Ignores engines that the environment names: pods may be unable to reach them.
  env: {},
  only: engines.map(({ name }) => name),
  disposable: true,
});

/**
 * Starts engines of `scripts/servers` with their own data on an address that pods can reach.
 * @returns the engines' settings
 * @throws Error if an engine does not start
 */
export async function startEngines(options: EngineOptions): Promise<Record<string, string>> {
  const servers = await up(fleet(options));
  const failed = servers.filter((server) => !isServed(server));
  if (failed.length > 0) throw new Error(failed.map(({ engine, note }) => `${engine.title}: ${note}`).join('\n'));
  const settings = settingsOf(servers, {});
  await allowPages(settings);
  return settings;
}

export async function stopEngines(options: EngineOptions): Promise<void> {
  await down(fleet(options), { clear: true });
}

/** Makes the S3 service allow web pages to upload and download files. An installation needs an S3 service with this permission. */
async function allowPages(env: Record<string, string>): Promise<void> {
  const client = new S3Client({
    endpoint: env.S3_ENDPOINT ?? '',
    region: env.S3_REGION ?? '',
    credentials: { accessKeyId: env.S3_ACCESS_KEY_ID ?? '', secretAccessKey: env.S3_SECRET_ACCESS_KEY ?? '' },
    forcePathStyle: true,
  });
  const rule = { AllowedOrigins: [pagesOrigin], AllowedMethods: ['PUT', 'GET'], AllowedHeaders: ['content-type'] };
  const CORSConfiguration = { CORSRules: [rule] };
  await client.send(new PutBucketCorsCommand({ Bucket: env.S3_BUCKET, CORSConfiguration }));
  client.destroy();
}
