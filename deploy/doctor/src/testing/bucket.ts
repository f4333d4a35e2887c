import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  PutBucketCorsCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { testS3 } from '@parley/testing/object-stores';

/** Creates a bucket whose CORS allows web pages of one origin. */
export async function testBucket(name: string) {
  const { endpoint, region, accessKeyId, secretAccessKey } = testS3;
  const client = new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
  });
  const origin = 'https://app.example.com';
  await client.send(new CreateBucketCommand({ Bucket: name }));
  const rule = { AllowedOrigins: [origin], AllowedMethods: ['PUT', 'GET'], AllowedHeaders: ['content-type'] };
  await client.send(new PutBucketCorsCommand({ Bucket: name, CORSConfiguration: { CORSRules: [rule] } }));
  return {
    name,
    origin,
    env: {
      S3_ENDPOINT: endpoint,
      S3_REGION: region,
      S3_BUCKET: name,
      S3_ACCESS_KEY_ID: accessKeyId,
      S3_SECRET_ACCESS_KEY: secretAccessKey,
    },
    async empty() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name }));
      for (const { Key } of Contents) await client.send(new DeleteObjectCommand({ Bucket: name, Key }));
    },
    /** Deletes the bucket. @throws Error if the bucket is not empty */
    async remove() {
      await client.send(new DeleteBucketCommand({ Bucket: name }));
      client.destroy();
    },
  };
}
