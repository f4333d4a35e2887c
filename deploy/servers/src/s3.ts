import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from './engine.ts';
import { goTool } from './go-tool.ts';

const version = '1.8.0';
const region = 'us-east-1';
const bucket = 'parley';
const answerTimeoutMs = 2_000;

const versitygw = goTool({
  name: 'versitygw',
  version,
  package: 'github.com/versity/versitygw/cmd/versitygw',
  patience: 'about two minutes',
});

/** An S3 server that keeps objects as files. */
export const s3: Engine = {
  name: 's3',
  title: 'S3 (versitygw)',
  tool: versitygw,
  version: () => version,
  ports: ['main'],
  makeSecrets: () => ({
    accessKeyId: randomBytes(10).toString('hex'),
    secretAccessKey: randomBytes(24).toString('hex'),
  }),
  refusesRoot: false,
  stopSignal: 'SIGTERM',
  setting: 'S3_ENDPOINT',
  settingNames: [
    'S3_ENDPOINT',
    'S3_PUBLIC_ENDPOINT',
    'S3_REGION',
    'S3_BUCKET',
    'S3_ACCESS_KEY_ID',
    'S3_SECRET_ACCESS_KEY',
  ],
  settings: ({ ports, secrets }) => ({
    S3_ENDPOINT: `http://127.0.0.1:${ports.main}`,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: secrets.accessKeyId ?? '',
    S3_SECRET_ACCESS_KEY: secrets.secretAccessKey ?? '',
  }),

  async prepare({ home }) {
    for (const folder of ['root', 'iam']) mkdirSync(join(home, folder), { recursive: true, mode: 0o700 });
  },

  command: ({ home, installed, ports, secrets }) => ({
    command: join(installed, 'versitygw'),
    args: [
      '--port',
      `127.0.0.1:${ports.main}`,
      '--region',
      region,
      '--iam-dir',
      join(home, 'iam'),
      '--health',
      '/health',
      '--quiet',
      '--keep-alive',
      'posix',
      join(home, 'root'),
    ],
    env: { ROOT_ACCESS_KEY: secrets.accessKeyId ?? '', ROOT_SECRET_KEY: secrets.secretAccessKey ?? '' },
  }),

  async ask({ ports }) {
    const answer = await fetch(`http://127.0.0.1:${ports.main}/health`, {
      signal: AbortSignal.timeout(answerTimeoutMs),
    });
    await answer.body?.cancel();
    if (!answer.ok) throw new Error(`it answers ${answer.status}`);
  },

  async furnish({ home, ports, secrets }) {
    if (existsSync(join(home, 'root', bucket))) return;
    const { S3Client, CreateBucketCommand } = await import('@aws-sdk/client-s3');
    const client = new S3Client({
      endpoint: `http://127.0.0.1:${ports.main}`,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId: secrets.accessKeyId ?? '', secretAccessKey: secrets.secretAccessKey ?? '' },
    });
    try {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
    } finally {
      client.destroy();
    }
  },
};
