import type { Manifest } from './render.ts';

/** Chart values that let pods reach each engine through the network policies. */
const engines = ['postgres', 'redis', 'kafka', 's3', 'smtp'].map((name) => [
  `networkPolicy.engines.${name}.to`,
  [{ ipBlock: { cidr: '10.20.0.10/32' } }],
]);

/** The values that every installation must set. */
export const requiredValues = {
  ...Object.fromEntries(engines),
  'image.repository': 'registry.example.com/parley',
  existingSecret: 'parley',
  publicUrl: 'https://parley.example.com',
  config: { KAFKA_BROKERS: 'k:9092', S3_ENDPOINT: 'https://s3.example.com', RESET_URL: 'https://example.com/reset' },
};

/** Returns the unit that a manifest belongs to. */
export function unitOf({ metadata }: Manifest): string {
  return metadata.labels['app.kubernetes.io/component'] ?? '';
}

export function isHook({ metadata }: Manifest): boolean {
  return metadata.annotations?.['helm.sh/hook'] !== undefined;
}

export function ofKind(manifests: Manifest[], kind: string): Manifest[] {
  return manifests.filter((each) => each.kind === kind);
}

/** Returns the environment of a unit: the values of its settings, and the names of the settings that are in the Secret. */
export function environmentOf(manifests: Manifest[], unit: string) {
  const { env = [], envFrom = [] } = containerOf(manifests, unit) ?? {};
  const names = envFrom.map(({ configMapRef }) => configMapRef.name);
  const maps = ofKind(manifests, 'ConfigMap').filter(({ metadata }) => names.includes(metadata.name));
  const data: Record<string, string> = Object.assign({}, ...maps.map((map) => map.data));
  return { data, secrets: env.map(({ name }) => name), env };
}

/** Returns the container of a unit. */
export function containerOf(manifests: Manifest[], unit: string) {
  const deployment = ofKind(manifests, 'Deployment').find((each) => unitOf(each) === unit);
  return deployment?.spec.template.spec.containers[0];
}

/** Returns a value for a key of the Secret. */
export function sampleSecret(name: string): string {
  const key = Buffer.alloc(32, name).toString('base64');
  if (name === 'AVATAR_TOKEN_KEYS') return `k1:${key}`;
  if (name === 'SMTP_URL') return 'smtps://user:password@mail.example.com:465';
  return name === 'REDIS_URL' ? 'rediss://parley:password@redis:6379' : key;
}
