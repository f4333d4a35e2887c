import { type Environment, SettingsError } from '../settings/config.ts';

/**
 * Checks that Node verifies certificates in production.
 * @throws SettingsError if a production process would not verify certificates. Node itself reads NODE_TLS_REJECT_UNAUTHORIZED, so this
 * variable is not declared as a setting.
 */
export function checkCertificates({ NODE_ENV, NODE_TLS_REJECT_UNAUTHORIZED }: Environment): void {
  if (NODE_ENV !== 'production' || NODE_TLS_REJECT_UNAUTHORIZED !== '0') return;
  throw new SettingsError([
    'NODE_TLS_REJECT_UNAUTHORIZED: is 0, so no certificate would be verified; NODE_EXTRA_CA_CERTS names private authorities',
  ]);
}
