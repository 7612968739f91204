#!/bin/sh -e
# Runs when a package has been installed: makes the groups, and the folders of the secrets that only they can read.
command -v systemd-sysusers >/dev/null && systemd-sysusers iconedge.conf
for part in edge origin; do
  getent group iconedge-$part >/dev/null || groupadd --system iconedge-$part
  mkdir -p /etc/iconedge-$part/secrets
  chgrp iconedge-$part /etc/iconedge-$part/secrets
  chmod 2750 /etc/iconedge-$part/secrets
done
