import { randomBytes } from 'node:crypto';
import type { ModelAnswer } from '@parley/chassis/testing/model-answer';
import { type ModelServer, startModelServer } from '@parley/chassis/testing/model-server';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import { localMesh } from '@parley/local';

/** A whole mesh in this process and in memory, whose model does as it is told. */
export interface MeshWithModel {
  /** The GraphQL endpoint. */
  url: string;
  model: ModelServer;
  /** How the message that is exactly `text` is answered; others get an ordinary short answer. */
  answer(text: string, answer: ModelAnswer): void;
  stop(): Promise<void>;
}

const judgement = {
  score: 83,
  summary: 'It was a talk.',
  strengths: ['Said hello'],
  weaknesses: ['Said no more'],
  recommendation: 'GOOD',
};

export async function startMeshWithModel(): Promise<MeshWithModel> {
  process.env.LOG_LEVEL ??= 'fatal';
  const answers = new Map<string, ModelAnswer>();
  const model = await startModelServer({
    script: ({ messages, response_format }) =>
      response_format ? { json: judgement } : (answers.get(String(messages.at(-1)?.content)) ?? {}),
  });
  const key = () => randomBytes(32).toString('base64');
  const env = {
    MESH_KEY: key(),
    OPERATOR_KEY: key(),
    SECRETS_KEYS: `k1:${key()}`,
    AVATAR_TOKEN_KEYS: `k1:${key()}`,
    GATEWAY_PORT: '0',
    STORAGE_PORT: '0',
    TRUSTED_PROXIES: '127.0.0.1/32', // tests come through `startBalancer`: limits are to an address
    HOSTED_SMALL_MODEL_URL: model.url,
    HOSTED_SMALL_MODEL_MODEL: 'test-model',
  };
  const mesh = await localMesh(env, { dataFolder: null, databaseSnapshot: databaseSnapshot() });
  await mesh.start();
  return {
    url: `${mesh.publicUrl()}/graphql`,
    model,
    answer: (text, answer) => void answers.set(text, answer),
    async stop() {
      await mesh.stop();
      await model.stop();
    },
  };
}
