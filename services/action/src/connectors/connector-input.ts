import { anyText, rule, text } from '@parley/kernel/input';
import type { Outbound } from '@parley/outbound/outbound';
import { singleLineProblem } from '@parley/text/single-line';
import { z } from 'zod';
import { headerSecret } from '../header-secret.ts';

interface ConnectorRules {
  outbound: Pick<Outbound, 'urlProblem'>;
}

const maxUrlLength = 2_000;
const maxKeyLength = 4_096;

function connectorFields({ outbound }: ConnectorRules) {
  const serverUrl = anyText(maxUrlLength) as z.ZodType<string, string | null>;
  return z.object({
    name: text(200).check(rule(singleLineProblem)),
    serverUrl: serverUrl.check(rule((url) => urlProblem(url, outbound))),
  });
}

/** Returns why a URL is refused. The class `URL` drops white space, so the called URL would differ from the stored one. */
function urlProblem(url: string, outbound: ConnectorRules['outbound']): string | undefined {
  return /[\s\p{Cc}]/u.test(url) ? 'must not hold spaces or control characters' : outbound.urlProblem(url);
}

export function newConnector(rules: ConnectorRules) {
  return connectorFields(rules).extend({ apiKey: headerSecret(maxKeyLength) });
}

export function changedConnector(rules: ConnectorRules) {
  return connectorFields(rules).partial().extend({ id: z.int() });
}
