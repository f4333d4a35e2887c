import test from 'ava';
import { readSettings, SettingsError } from './config.ts';
import { fileSettings, processSettings } from './shared-settings.ts';

const bucket = {
  S3_ENDPOINT: 'https://s3.example.com',
  S3_BUCKET: 'parley',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};
const readS3 = (env: Record<string, string>) => readSettings(env, fileSettings).s3;

test('a bucket needs its endpoint, its name and its keys; the rest has defaults', (t) => {
  t.like(readS3(bucket), { endpoint: 'https://s3.example.com', region: 'us-east-1', publicEndpoint: undefined });
  const error = t.throws(() => readS3({ S3_ENDPOINT: 'there', S3_PUBLIC_ENDPOINT: 'here' }));
  t.true(error instanceof SettingsError);
  for (const name of ['S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']) {
    t.true(error?.message.includes(`${name}: `), name);
  }
});

test('without an endpoint there is no bucket, and in production that is an error', (t) => {
  const production = { NODE_ENV: 'production' };
  t.is(readS3({}), undefined);
  t.throws(() => readS3(production), { message: /S3_ENDPOINT: is missing, and NODE_ENV is production$/u });
  t.truthy(readS3({ ...production, ...bucket }));
});

test('a misspelt production is an error, rather than development', (t) => {
  const { nodeEnv } = processSettings;
  const read = (NODE_ENV?: string) => readSettings({ NODE_ENV }, { nodeEnv }).nodeEnv;
  for (const each of ['production', 'development', 'test', undefined] as const) t.is(read(each), each);
  for (const each of ['Production', 'prod', ' production']) {
    t.throws(() => read(each), { message: /NODE_ENV: is none of production, development and test$/u }, each);
  }
});
