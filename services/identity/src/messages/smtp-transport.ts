import type { Transporter } from 'nodemailer';

/**
 * Returns the connections to the mail server of `SMTP_URL`, which are opened with the first mail.
 * @param timeoutMs timeout for each step of connecting
 */
export async function smtpTransport(smtpUrl: string, timeoutMs = 10_000): Promise<Transporter> {
  const { createTransport } = await import('nodemailer');
  const timeouts = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: 2 * timeoutMs };
  return createTransport({ url: smtpUrl, pool: true, maxConnections: 4, ...timeouts });
}
