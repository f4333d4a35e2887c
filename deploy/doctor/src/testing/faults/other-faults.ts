import { canary } from '../garden.ts';
import { nowhere, planted } from '../planted.ts';

export const otherFaults = [
  planted(
    'a key that is missing',
    () => ({ env: { SECRETS_KEYS: '' } }),
    ['settings.missing'],
    /SECRETS_KEYS is missing/u,
  ),
  planted(
    'a misspelt setting',
    () => ({ env: { DATABASE_POOLSIZE: '3' } }),
    ['settings.unknown'],
    /DATABASE_POOLSIZE/u,
  ),
  planted(
    'a mail server that is down',
    () => ({ env: { SMTP_URL: `smtp://me:${canary}@${nowhere}` } }),
    ['mail.refused'],
    /nothing listens/u,
  ),
  planted(
    'a wrong password of the mail server',
    (garden) => ({ env: { SMTP_URL: garden.env.SMTP_URL?.replace(canary, `${canary}2`) } }),
    ['mail.password'],
    /refuses the login/u,
  ),
  planted(
    'a model whose host is unknown',
    (garden) => ({ env: { [garden.modelUrl]: 'https://no-such-host.invalid/v1' } }),
    ['addresses.host'],
    /no-such-host.invalid:443 is unknown/u,
  ),
  planted(
    'a collector of traces that is down',
    () => ({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${nowhere}` } }),
    ['addresses.refused'],
    /nothing listens/u,
  ),
  planted(
    'clocks that differ',
    () => ({ now: () => Date.now() + 60_000 }),
    ['postgres.clock', 'redis.clock', 's3.clock'],
    /\d+ s behind this machine's/u,
  ),
];
