import { positiveInt } from '@parley/kernel/setting-types';
import { optionalGroup, setting, type ValuesOf } from '@parley/kernel/settings';
import { fetchedUrl } from '@parley/kernel/shared-settings';
import { z } from 'zod';

const headerValue = z.string().regex(/^[\x21-\x7e]+$/u, 'is not printable ASCII without spaces');

const group = {
  url: setting(
    'IDP_ONE_URL',
    fetchedUrl,
    'Base URL of the external identity provider IDP_ONE; tickets are exchanged at `/tickets/exchange` below it.',
    { without: 'nobody signs in with it' },
  ),
  clientId: setting('IDP_ONE_CLIENT_ID', headerValue, 'Sent to it as `X-Client-Id`.'),
  clientSecret: setting('IDP_ONE_CLIENT_SECRET', headerValue, 'Sent to it as `X-Client-Secret`.', { secret: true }),
  timeoutMs: setting(
    'IDP_ONE_TIMEOUT_MS',
    positiveInt.default(5_000),
    'How long an exchange may take, the wait for its turn included.',
  ),
};

export type IdpOneSettings = ValuesOf<typeof group>;

export const idpOneSettings = optionalGroup('IDP_ONE_URL', group);
