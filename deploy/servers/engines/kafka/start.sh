. "$SCRIPTS/java.sh"
if [ ! -e data ]; then
  rm -rf data.building
  cp -r "$INSTALLED/template" data.building
  mv data.building data
fi
{
  cat "$SCRIPTS/server.properties"
  echo 'log.dirs=data'
  addresses "$PORT" "$SECOND_PORT" "$HOST"
  # Tests of listeners write additional properties into own.properties.
  [ ! -e own.properties ] || cat own.properties
} >server.properties
ln -sfn "$INSTALLED" installed
[ ! -e installed/classes.jsa ] || options="$options -XX:SharedArchiveFile=installed/classes.jsa -Xlog:cds=off"
exec java $options -cp "$(class_path installed)" kafka.Kafka server.properties
