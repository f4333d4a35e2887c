import test from 'ava';
import { SettingsError } from '../config.ts';
import { readS3Settings } from './s3-settings.ts';

const whole = {
  S3_ENDPOINT: 'https://s3.example.com',
  S3_BUCKET: 'parley',
  S3_ACCESS_KEY_ID: 'id',
  S3_SECRET_ACCESS_KEY: 'secret',
};

test('a bucket needs its endpoint, its name and its keys; the rest has defaults', (t) => {
  t.like(readS3Settings(whole), { endpoint: 'https://s3.example.com', region: 'us-east-1', publicEndpoint: undefined });
  const error = t.throws(() => readS3Settings({ S3_ENDPOINT: 'there', S3_PUBLIC_ENDPOINT: 'here' }));
  t.true(error instanceof SettingsError);
  for (const name of ['S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY']) {
    t.true(error?.message.includes(`${name}: `), name);
  }
});

test('without an endpoint there is none, and in production that is an error', (t) => {
  t.is(readS3Settings({}), undefined);
  t.throws(() => readS3Settings({ NODE_ENV: 'production' }), { message: /S3_ENDPOINT: is missing/u });
  t.truthy(readS3Settings({ ...whole, NODE_ENV: 'production' }));
});
