import { unitNames } from '@parley/units';
import { hostAddress, podsRange } from '../addresses.ts';

/** The services that an installation uses outside the cluster. */
export interface ExternalServices {
  /** The settings of the engines, as `scripts/servers env` prints them. */
  engines: Record<string, string>;
  modelUrl: string;
  model: Record<string, string>;
  smtpUrl: string;
}

/** The origin of the web pages that may call this installation. */
export const pagesOrigin = 'https://app.example.com';

const portOf = (address: string) => Number(new URL(address.includes('://') ? address : `tcp://${address}`).port);

/**
 * Returns values that override `examples/small.yaml`: engines on this machine, and CPU requests so small that all pods fit on two
 * processors.
 */
export function valuesOf({ engines, modelUrl, model, smtpUrl }: ExternalServices, tag: string) {
  const { DATABASE_URL = '', REDIS_URL = '', KAFKA_BROKERS = '', S3_SECRET_ACCESS_KEY: _, ...s3 } = engines;
  const { HOSTED_SMALL_MODEL_KEY: __, ...openModel } = model;
  const here = [{ ipBlock: { cidr: `${hostAddress}/32` } }];
  const engine = (address: string) => ({ to: here, ports: [portOf(address)] });
  const requests = { cpu: '20m' };
  const toModel = { to: here, ports: [{ port: portOf(modelUrl), protocol: 'TCP' }] };
  const units = Object.fromEntries(unitNames.map((name) => [name, { resources: { requests } }]));
  return {
    image: { repository: 'docker.io/parley', tag, pullPolicy: 'Never' },
    config: {
      KAFKA_BROKERS,
      ...s3,
      S3_PUBLIC_ENDPOINT: s3.S3_ENDPOINT,
      ...openModel,
      HOSTED_SMALL_MODEL_URL: modelUrl,
      CORS_ORIGINS: pagesOrigin,
      // Clients on this machine send client addresses themselves, as a proxy does for its users.
      TRUSTED_PROXIES: podsRange,
    },
    defaults: { autoscaling: { enabled: false } },
    units: { ...units, agent: { resources: { requests }, extraEgress: [toModel] } },
    ingress: { enabled: false },
    networkPolicy: {
      engines: {
        postgres: engine(DATABASE_URL),
        redis: engine(REDIS_URL),
        kafka: engine(KAFKA_BROKERS),
        s3: engine(s3.S3_ENDPOINT ?? ''),
        smtp: engine(smtpUrl),
      },
    },
    migrations: { topicReplication: 1, resources: { requests } },
  };
}
