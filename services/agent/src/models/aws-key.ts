/** The credential that signs or authorises requests to Bedrock. */
export type AwsKey = { apiKey: string } | { accessKeyId: string; secretAccessKey: string; sessionToken?: string };

/**
 * Parses `<access key id>:<secret access key>[:<session token>]`. A key without a colon is a Bedrock API key. Returns undefined if a part
 * is empty, or if there are too many parts.
 */
export function awsKeyOf(key: string): AwsKey | undefined {
  const [accessKeyId = '', secretAccessKey, sessionToken, ...more] = key.split(':');
  if (secretAccessKey === undefined) return { apiKey: key };
  if (more.length > 0 || [accessKeyId, secretAccessKey, sessionToken].includes('')) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}
